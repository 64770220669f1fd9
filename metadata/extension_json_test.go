// SPDX-License-Identifier: Apache-2.0

package metadata_test

import (
	"encoding/json"
	"testing"

	"varve.dev/zarr/metadata"
)

// TestExtensionJSON encodes extensions and decodes them again.
func TestExtensionJSON(t *testing.T) {
	for _, text := range []string{`"bytes"`, `{"name":"gzip","configuration":{"level":5}}`, `{"name":"x","must_understand":false}`} {
		var e, again metadata.Extension
		if err := json.Unmarshal([]byte(text), &e); err != nil {
			t.Fatal(err)
		}
		raw, err := json.Marshal(e)
		if err == nil {
			err = json.Unmarshal(raw, &again)
		}
		if err != nil || string(raw) != text || !again.Equal(e) {
			t.Errorf("%s: %s is not %s (%v)", text, raw, text, err)
		}
	}
	if err := json.Unmarshal([]byte(`{"configuration":{}}`), new(metadata.Extension)); err == nil {
		t.Error("an extension without a name is accepted")
	}
}
