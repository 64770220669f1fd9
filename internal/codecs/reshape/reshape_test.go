// SPDX-License-Identifier: Apache-2.0

package reshape

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/codec/codectest"
	"varve.dev/zarr/dtype"
)

func bound(t testing.TB, configuration string, rank int) codec.ArrayArray {
	t.Helper()
	c, err := New([]byte(configuration))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.(codec.ArrayArray).Bind(codec.Spec{Type: dtype.Int32, Rank: rank}); err != nil {
		t.Fatal(err)
	}
	return c.(codec.ArrayArray)
}

func TestContract(t *testing.T) {
	for _, tt := range []struct {
		shape []any
		rank  int
	}{
		{[]any{-1}, 0}, {[]any{-1}, 3}, {[]any{[]int{0, 1}, []int{2}}, 3}, {[]any{[]int{0}, []int{1}, []int{}}, 2},
		{[]any{1, []int{0, 1, 2, 3}}, 4}, {nil, 0}, {[]any{[]int{0}, -1}, 3},
	} {
		spec := codec.Spec{Type: dtype.Int16, Fill: []byte{0, 0}, Rank: tt.rank}
		codectest.Run(t, func() any {
			c, err := New(codec.Reshape(tt.shape...).Configuration)
			if err != nil {
				t.Fatal(err)
			}
			return c
		}, &codectest.Options{Specs: []codec.Spec{spec}})
	}
}

func TestShapes(t *testing.T) {
	for _, tt := range []struct {
		shape, of, want string
	}{
		{`[[0,1],[2],3]`, "[100 50 64 3]", "[5000 64 3]"}, // the example of the page
		{`[[0,1],10,[3,4]]`, "[2 3 10 4 5]", "[6 10 20]"},
		{`[[0,1],10,[3,4]]`, "[2 3 9 4 5]", ""},
		{`[-1]`, "[4 5]", "[20]"}, {`[-1]`, "[]", "[1]"}, {`[]`, "[]", "[]"}, {`[]`, "[1 1]", "[]"}, {`[]`, "[2]", ""},
		{`[4,-1,2]`, "[4 10]", "[4 5 2]"}, {`[3,-1]`, "[4 10]", ""}, {`[20,2]`, "[4 10]", "[20 2]"}, {`[20,3]`, "[4 10]", ""},
		{`[[0],-1]`, "[7 2 3]", "[7 6]"}, {`[-1,[2]]`, "[7 2 3]", "[14 3]"}, {`[-1,[1],-1]`, "", ""},
		{`[[0],[2]]`, "[7 1 3]", "[7 3]"}, {`[[0],[2]]`, "[7 2 3]", ""}, {`[[0,2]]`, "[7 1 3]", "[21]"},
		{`[1,[0],1]`, "[7]", "[1 7 1]"}, {`[[],[0]]`, "[7]", "[1 7]"},
		{`[2,[1]]`, "[2 5]", "[2 5]"}, {`[[1],2]`, "[2 5]", ""}, {`[[0],5]`, "[5 2]", ""},
		{`[5,[1],2]`, "[10 3]", ""}, {`[2,5,[1]]`, "[10 3]", "[2 5 3]"}, {`[[0],[1],6]`, "[2 3 6]", "[2 3 6]"},
		{`[-1,2]`, "[3 0]", "[0 2]"}, {`[[0],-1]`, "[0 5]", "[0 1]"}, {`[4611686018427387904,2]`, "[1 1]", ""},
		{`[9223372036854775807,9223372036854775807]`, "[3 5]", ""},
	} {
		if tt.of == "" {
			continue
		}
		var of []int64
		for _, n := range strings.Fields(strings.Trim(tt.of, "[]")) {
			var v int64
			if _, err := fmt.Sscan(n, &v); err != nil {
				t.Fatal(err)
			}
			of = append(of, v)
		}
		got, err := bound(t, `{"shape":`+tt.shape+`}`, len(of)).EncodedShape(nil, of)
		switch {
		case tt.want == "" && !errors.Is(err, codec.ErrConfiguration):
			t.Errorf("%s of %s: %d, %v, want an error", tt.shape, tt.of, got, err)
		case tt.want != "" && (err != nil || fmt.Sprint(append([]int64{}, got...)) != tt.want):
			t.Errorf("%s of %s: %d, %v, want %s", tt.shape, tt.of, got, err, tt.want)
		}
	}
	c := bound(t, `{"shape":[-1]}`, 2)
	for _, shape := range [][]int64{{math.MaxInt64, 2}, {1}, {1, 2, 3}} {
		if _, err := c.EncodedShape(nil, shape); !errors.Is(err, codec.ErrConfiguration) {
			t.Errorf("shape %d: %v", shape, err)
		}
	}
}

func TestRefuses(t *testing.T) {
	long := "[" + strings.Repeat("1,", 1000) + "1]"
	for configuration, says := range map[string]string{
		`{}`: "shape is missing", `{"shape":null}`: "null", `{"shape":5}`: "shape", `{"shape":[0]}`: "at least 1", `{"shape":[-2]}`: "at least 1",
		`{"shape":[1.5]}`: "axis 0", `{"shape":["1"]}`: "axis 0", `{"shape":[null]}`: "axis 0", `{"shape":[-1,3,-1]}`: "axis 2: only one",
		`{"shape":[[1],[0]]}`: "axis 1: axis 0 of the array does not ascend", `{"shape":[[1,0],10,[3,4]]}`: "does not ascend",
		`{"shape":[[3,4],10,[0,1]]}`: "does not ascend", `{"shape":[[0,0]]}`: "does not ascend", `{"shape":[[-1]]}`: "no array has an axis -1",
		`{"shape":[[0.5]]}`: "axis 0", `{"shape":[[[0]]]}`: "axis 0", `{"shape":[1],"order":"C"}`: "unknown member", `{"shape":[[1e9]]}`: "no array has an axis",
		`{"shape":` + long + `}`: "shape has 1001 axes",
	} {
		if _, err := New([]byte(configuration)); !errors.Is(err, codec.ErrConfiguration) || !strings.Contains(err.Error(), says) {
			t.Errorf("%.80s: %v, want %q", configuration, err, says)
		}
	}
	c, err := New([]byte(`{"shape":[[0,3],1]}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.(codec.ArrayArray).Bind(codec.Spec{Rank: 3}); !errors.Is(err, codec.ErrConfiguration) || !strings.Contains(err.Error(), "no axis 3, only 3 axes") {
		t.Errorf("error is %v", err)
	}
}

// TestModel merges axes of random chunks, some of which it says by number and one by what
// is left.
func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := rapid.SliceOfN(rapid.Int64Range(1, 5), 1, 6).Draw(t, "shape")
		var lengths []any
		var want []int64
		rest := false
		for axis := 0; axis < len(shape); {
			n := rapid.IntRange(1, len(shape)-axis).Draw(t, "axes")
			var axes []int
			size := int64(1)
			for range n {
				axes, size = append(axes, axis), size*shape[axis]
				axis++
			}
			switch k := rapid.IntRange(0, 2).Draw(t, "kind"); {
			case k == 0:
				lengths = append(lengths, axes)
			case k == 1 && !rest:
				lengths, rest = append(lengths, -1), true
			default:
				lengths = append(lengths, size)
			}
			want = append(want, size)
		}
		made, err := New(codec.Reshape(lengths...).Configuration)
		if err != nil {
			t.Fatal(err)
		}
		c := made.(codec.ArrayArray)
		out, err := c.Bind(codec.Spec{Rank: len(shape)})
		if err != nil || out.Rank != len(want) {
			t.Fatal(out, err)
		}
		if got, err := c.EncodedShape(nil, shape); err != nil || !slices.Equal(got, want) {
			t.Fatalf("%d as %s: %d, %v, want %d", shape, made.(*coder).text(), got, err, want)
		}
	})
}

func TestVariableWidth(t *testing.T) {
	c := bound(t, `{"shape":[-1]}`, 2)
	src := codec.Block{Shape: []int64{2, 1}, Data: []byte("abc"), Offsets: []int64{0, 1, 3}}
	dst := codec.Block{Shape: []int64{2}}
	if err := c.Encode(&dst, src); err != nil || string(dst.Data) != "abc" || !slices.Equal(dst.Offsets, src.Offsets) {
		t.Errorf("%+v, %v", dst, err)
	}
}

func FuzzShape(f *testing.F) {
	f.Add([]byte(`{"shape":[[0,1],10,[3,4]]}`), int64(2), int64(3), int64(10))
	f.Add([]byte(`{"shape":[-1,2]}`), int64(0), int64(math.MaxInt64), int64(5))
	f.Fuzz(func(t *testing.T, configuration []byte, a, b, c int64) {
		made, err := New(configuration)
		if err != nil {
			if !errors.Is(err, codec.ErrConfiguration) {
				t.Errorf("error is %v", err)
			}
			return
		}
		r := made.(codec.ArrayArray)
		out, err := r.Bind(codec.Spec{Rank: 3})
		if err != nil {
			return
		}
		shape := []int64{max(a, 0), max(b, 0), max(c, 0)}
		got, err := r.EncodedShape(nil, shape)
		if err == nil && (len(got) != out.Rank || !same(got, shape)) {
			t.Errorf("%d becomes %d", shape, got)
		}
	})
}

func BenchmarkEncode(b *testing.B) {
	c := bound(b, `{"shape":[-1]}`, 2)
	src := codec.Block{Shape: []int64{512, 512}, Data: make([]byte, 1<<20)}
	dst := codec.Block{Shape: []int64{1 << 18}, Data: make([]byte, 1<<20)}
	b.SetBytes(1 << 20)
	b.ReportAllocs()
	for b.Loop() {
		if err := c.Encode(&dst, src); err != nil {
			b.Fatal(err)
		}
	}
}
