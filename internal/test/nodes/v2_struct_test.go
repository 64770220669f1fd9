// SPDX-License-Identifier: Apache-2.0

package nodes_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
)

// mixed is an element of format 2. Its fields have different byte orders, and one is an
// array.
type mixed struct {
	A int16 `zarr:"a"`
	B struct {
		X float32 `zarr:"x"`
	} `zarr:"b"`
	C [2][1]uint16 `zarr:"c"`
}

// mixedV2 stores an array of mixed elements in the layout of NumPy.
func mixedV2(t *testing.T) memtest.Store {
	t.Helper()
	s := memtest.New()
	for key, value := range map[string]string{
		".zarray": `{"zarr_format":2,"shape":[3],"chunks":[2],"dtype":[["a","<i2"],["b",[["x",">f4"]]],["c",">u2",[2,1]]],` +
			`"fill_value":"CQA/gAAAAAcACA==","order":"C","filters":null,"compressor":null}`,
		"0": "\x01\x00\x40\x00\x00\x00\x00\x02\x00\x03" + "\x02\x00\xbf\x80\x00\x00\x01\x02\x03\x04",
	} {
		if _, err := s.Write(t.Context(), store.Put(store.MustKey(key), []byte(value)), 0); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// TestFieldOrdersV2 reads, writes and grows an array of structs of format 2 whose fields
// have different byte orders.
func TestFieldOrdersV2(t *testing.T) {
	ctx, s := t.Context(), mixedV2(t)
	a, err := zarr.At(s, "").OpenArray(ctx, &zarr.Options{Write: true})
	if err != nil {
		t.Fatal(err)
	}
	want := []mixed{{A: 1, C: [2][1]uint16{{2}, {3}}}, {A: 2, C: [2][1]uint16{{0x102}, {0x304}}}, {A: 9, C: [2][1]uint16{{7}, {8}}}}
	want[0].B.X, want[1].B.X, want[2].B.X = 2, -1, 1
	if got, err := zarr.ReadStructs[mixed](ctx, a, nil); err != nil || !reflect.DeepEqual(got.Data, want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
	if got, err := zarr.ReadStructs[mixed](ctx, a, selection.Box{{1, 2}}); err != nil || !reflect.DeepEqual(got.Data, want[1:2]) {
		t.Errorf("reading a part: %v, %v", got, err)
	}
	if b, err := zarr.Read[float32](ctx, a, selection.Fields{Names: []string{"b"}, Of: selection.Basic{selection.Stepped(selection.Open, selection.Open, -2)}}); err == nil {
		t.Errorf("reading structs as numbers: %v", b)
	}
	if err := zarr.WriteStructs(ctx, a, selection.Box{{2, 3}}, want[1:2]); err != nil {
		t.Fatal(err)
	}
	if got := valueAt(t, s, "1"); got != "\x02\x00\xbf\x80\x00\x00\x01\x02\x03\x04"+"\x09\x00\x3f\x80\x00\x00\x00\x07\x00\x08" {
		t.Errorf("stored %q", got)
	}
	like := a.Spec()
	b, err := zarr.At(memtest.New(), "like").CreateArray(ctx, like, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := zarr.WriteStructs(ctx, b, selection.Box{{0, 2}}, want[:2]); err != nil {
		t.Fatal(err)
	}
	if got, err := zarr.ReadStructs[mixed](ctx, b, nil); err != nil || !reflect.DeepEqual(got.Data, want) {
		t.Errorf("creating an array of the same Spec: %v, %v", got, err)
	}
	like.Format = 3
	if _, err := zarr.At(memtest.New(), "v3").CreateArray(ctx, like, nil); !errors.Is(err, zarr.ErrUnsupported) || !strings.Contains(err.Error(), "only format 2 has") {
		t.Errorf("in format 3: %v", err)
	}
}

// TestArrayFieldsRefused reads array fields into Go arrays of another length or type.
func TestArrayFieldsRefused(t *testing.T) {
	a, err := zarr.At(mixedV2(t), "").OpenArray(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	type short struct {
		A int16        `zarr:"a"`
		C [1][1]uint16 `zarr:"c"`
	}
	type flat struct {
		A int16     `zarr:"a"`
		C [2]uint16 `zarr:"c"`
	}
	sel := selection.Fields{Names: []string{"a", "c"}}
	_, shortErr := zarr.ReadStructs[short](t.Context(), a, sel)
	_, flatErr := zarr.ReadStructs[flat](t.Context(), a, sel)
	for _, err := range []error{shortErr, flatErr} {
		if !errors.Is(err, zarr.ErrInvalidArgument) || !strings.Contains(err.Error(), `field "c`) {
			t.Error(err)
		}
	}
}
