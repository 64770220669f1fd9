// SPDX-License-Identifier: Apache-2.0

package metadata_test

import (
	"errors"
	"strings"
	"testing"

	"varve.dev/zarr/metadata"
)

// TestLongTexts has a name or a text of a megabyte wherever a document may have one. It
// is refused with its beginning.
func TestLongTexts(t *testing.T) {
	const document = `{"zarr_format":3,"node_type":"array","shape":[4],"data_type":{"name":"TYPE"},"chunk_grid":{"name":"regularGRID","configuration":` +
		`{"chunk_shape":[2]}},"chunk_key_encoding":{"name":"defaultKEYS","configuration":{"separator":"/"}},"fill_value":0,` +
		`"codecs":[{"name":"bytesCODEC","configuration":{"endian":"little","list":[{"KEY":"TEXT"}]}}],"storage_transformers":["TRANSFORMER"],"MEMBER":{"must_understand":false}}`
	const v2 = `{"zarr_format":2,"shape":[4],"chunks":[2],"dtype":"<f4","fill_value":0,"order":"C","filters":[{"id":"FILTER"}],"compressor":{"id":"ID","x":"VALUE"}}`
	long := strings.Repeat("z", 1<<20)
	for word, document := range map[string]string{
		"TYPE": document, "GRID": document, "KEYS": document, "CODEC": document, "TRANSFORMER": document, "KEY\"": document, "MEMBER": document, "TEXT": document,
		"FILTER": v2, "ID": v2, "VALUE": v2,
	} {
		read := func(text string) error {
			raw := []byte(strings.Replace(document, strings.Trim(word, `"`), text, 1))
			if document == v2 {
				_, err := metadata.ParseArrayV2(raw, nil, metadata.Limits{})
				return err
			}
			_, err := metadata.ParseArray(raw, metadata.Limits{})
			return err
		}
		if err := read(long); !errors.Is(err, metadata.ErrInvalid) || len(err.Error()) > 1000 || !strings.Contains(err.Error(), "zzz...zzz") {
			t.Errorf("%s: %.2000v", word, err)
		}
		if err := read("zzz"); errors.Is(err, metadata.ErrInvalid) {
			t.Errorf("%s: %v", word, err)
		}
	}
}
