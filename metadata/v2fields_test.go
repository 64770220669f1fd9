// SPDX-License-Identifier: Apache-2.0

package metadata_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"varve.dev/zarr/metadata"
)

// TestManyFieldsV2 checks that a structured type with far too many fields is refused
// before memory is allocated for them.
func TestManyFieldsV2(t *testing.T) {
	const n = 100_000
	fields := make([]string, n)
	for i := range fields {
		fields[i] = fmt.Sprintf(`["%05d","|u1"]`, i)
	}
	doc := []byte(`{"zarr_format":2,"shape":[1],"chunks":[1],"dtype":[` + strings.Join(fields, ",") +
		`],"compressor":null,"fill_value":null,"order":"C","filters":null}`)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := metadata.ParseV2(metadata.V2Array, doc, nil, metadata.Limits{})
	runtime.ReadMemStats(&after)
	if !errors.Is(err, metadata.ErrUnsupported) || !strings.Contains(err.Error(), "4096 fields") {
		t.Errorf("error is %.200v", err)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 4*uint64(len(doc)) {
		t.Errorf("%d bytes for a document of %d", used, len(doc))
	}
}
