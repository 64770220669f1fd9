// SPDX-License-Identifier: Apache-2.0

package cf_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/cf"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/store"
)

// TestMasksFill decides where the fill value 9 of format 2 is a missing value. All that
// asks for missing values gives the same answer.
func TestMasksFill(t *testing.T) {
	const (
		names   = `{"_ARRAY_DIMENSIONS":["x"]}`
		image   = `{"multiscales":[{"version":"0.4","datasets":[{"path":"0"}]},{"datasets":[{"path":"./scale0/image"},{"path":"/s/1/"}]}]}`
		pyramid = `{"multiscales":[{"version":"0.4","datasets":[{"path":"0"}],"metadata":{"method":"varve.dev/zarr/pyramid"}}]}`
		other   = `{"multiscales":{"layout":[{"asset":"0"}]}}`
	)
	for name, c := range map[string]struct {
		path, group, attributes, extra string
		fill                           string
		want                           bool
	}{
		"names":          {"0", "{}", names, "", "9", true},
		"null":           {"0", "{}", names, "", "null", false},
		"no names":       {"0", "{}", "{}", "", "9", false},
		"too many names": {"0", "{}", `{"_ARRAY_DIMENSIONS":["x","y"]}`, "", "9", false},
		"NCZarr":         {"0", "{}", "{}", `,"_NCZARR_ARRAY":{"dimrefs":["/x"]}`, "9", true},
		"image":          {"0", image, names, "", "9", false},
		"nested":         {"scale0/image", image, names, "", "9", false},
		"spelled":        {"s/1", image, names, "", "9", false},
		"beside":         {"table", image, names, "", "9", true},
		"of a pyramid":   {"0", pyramid, names, "", "9", true},
		"GeoZarr":        {"0", other, names, "", "9", true},
		"damaged group":  {"0", "{", names, "", "9", true},
	} {
		s := memtest.New()
		document := fmt.Sprintf(`{"zarr_format":2,"shape":[3],"chunks":[3],"dtype":"<i2","fill_value":%s,"order":"C","filters":null,"compressor":null%s}`, c.fill, c.extra)
		for key, text := range map[string]string{
			"g/.zgroup": `{"zarr_format":2}`, "g/.zattrs": c.group, "g/" + c.path + "/.zarray": document, "g/" + c.path + "/.zattrs": c.attributes,
			"g/" + c.path + "/0": "\x09\x00\x00\x00\x07\x00",
		} {
			if _, err := store.Write(t.Context(), s, store.Put(store.MustKey(key), []byte(text)), store.Flush); err != nil {
				t.Fatal(err)
			}
		}
		a, err := zarr.At(s, "g/"+c.path).OpenArray(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		is, err := cf.MasksFill(t.Context(), a)
		if err != nil || is != c.want {
			t.Errorf("%s: %t, %v", name, is, err)
		}
		if list := slices.Collect(cf.Missing(a.Metadata(), is)); (len(list) > 0) != c.want {
			t.Errorf("%s: missing are %x", name, list)
		}
		p, err := cf.PackingOf(t.Context(), a)
		if err != nil || p.IsMasked() != c.want || p.IsMissing([]byte{9, 0}) != c.want {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
		d, err := cf.DecodingOf(t.Context(), a)
		if err != nil || (d != nil) != c.want {
			t.Errorf("%s: %v, %v", name, d, err)
		}
		want := "=<"
		if c.want {
			want = "?<"
		}
		if got := orders(t, a, "9"); got[:1] != want[:1] {
			t.Errorf("%s: compared as %s", name, got)
		}
	}
}

// TestMasksFillUnknown fails each request for the group above: there is no answer then.
func TestMasksFillUnknown(t *testing.T) {
	s, failed := memtest.New(), errors.New("no answer")
	spec := zarr.Spec{Format: 2, Shape: []int64{3}, DimensionNames: []string{"x"}, FillValue: zarr.FillJSON("9"), Type: dtype.Int16}
	if _, err := zarr.At(s, "g/a").CreateArray(t.Context(), spec, nil); err != nil {
		t.Fatal(err)
	}
	var above bool
	h := stepping.Conditional(s, stepping.Hooks{Before: func(_ context.Context, op stepping.Op) error {
		if above {
			return failed
		}
		return nil
	}})
	a, err := zarr.At(h, "g/a").OpenArray(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	above = true
	if _, err := cf.PackingOf(t.Context(), a); !errors.Is(err, failed) {
		t.Errorf("packing: %v", err)
	}
	if _, err := cf.ComparerOf(t.Context(), a); !errors.Is(err, failed) {
		t.Errorf("comparer: %v", err)
	}
}
