// SPDX-License-Identifier: Apache-2.0

package pyramid_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/pyramid"
	"varve.dev/zarr/store/memstore"
)

// TestAttributesFollow changes attributes of an array, alone and with its elements. All
// levels have them, and what was set in a level.
func TestAttributesFollow(t *testing.T) {
	for _, format := range []int{2, 3} {
		for _, written := range []bool{false, true} {
			s := memstore.New()
			a := newImage(t, s, zarr.Spec{
				Format: format, Shape: []int64{16, 16}, Chunks: every(8, 8), Attributes: json.RawMessage(`{"units": "K", "gone": 1}`),
			})
			_, err := pyramid.Make(t.Context(), a, &pyramid.Options{Levels: 2})
			check1(t, err)
			level, err := zarr.At(s, "g/image_levels/1/image").OpenArray(t.Context(), &zarr.Options{Write: true})
			check1(t, err)
			check1(t, level.UpdateAttributes(t.Context(), func(o []byte) ([]byte, error) { return metadata.SetAttribute(o, "mine", []byte("[1]")) }))
			check1(t, a.UpdateAttributes(t.Context(), func([]byte) ([]byte, error) {
				return []byte(`{"units": "degC", "scale_factor": 0.5, "note": "T & P <sfc>"}`), nil
			}))
			if written {
				check1(t, zarr.Write(t.Context(), a, nil, make([]int32, 256)))
			}
			_, err = pyramid.Make(t.Context(), a, &pyramid.Options{Levels: 2})
			check1(t, err)
			// What is set in a level stays, also if the array has such an attribute.
			check1(t, level.Refresh(t.Context()))
			check1(t, level.UpdateAttributes(t.Context(), func(o []byte) ([]byte, error) { return metadata.SetAttribute(o, "note", []byte(`"own"`)) }))
			_, err = pyramid.Make(t.Context(), a, &pyramid.Options{Levels: 2})
			check1(t, err)
			for path, mine := range map[string]any{"g/image_levels/1/image": []any{1.0}, "g/image_levels/2/image": nil} {
				level, err := zarr.At(s, path).OpenArray(t.Context(), nil)
				check1(t, err)
				is := map[string]any{}
				check1(t, json.Unmarshal(level.Attributes(), &is))
				if _, stays := is["gone"]; stays || is["units"] != "degC" || is["scale_factor"] != 0.5 || !reflect.DeepEqual(is["mine"], mine) || is["varve:pyramid"] == nil ||
					is["note"] != map[bool]string{true: "own", false: "T & P <sfc>"}[mine != nil] {
					t.Errorf("format %d, written %t: %s has %v", format, written, path, is)
				}
			}
		}
	}
}
