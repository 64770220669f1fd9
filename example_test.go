// SPDX-License-Identifier: Apache-2.0

package zarr_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"math"
	"os"
	"path/filepath"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store/memstore"
)

// Three months of daily fields, and one more day. The append writes only its chunk and
// the document.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "varve")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	a, err := zarr.CreateArray(ctx, filepath.Join(dir, "t2m.zarr"), zarr.Spec{
		Shape:          []int64{90, 4, 8},
		Type:           dtype.Float32,
		Chunks:         []grid.Cut{grid.Edges(31, 28, 31), grid.Every(4), grid.Every(8)},
		FillValue:      zarr.FillOf(math.NaN()),
		DimensionNames: []string{"time", "lat", "lon"},
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	if err := zarr.Append(ctx, a, 0, make([]float32, 4*8), nil); err != nil {
		log.Fatal(err)
	}
	week, err := zarr.Read[float32](ctx, a, selection.Box{{86, 91}, {0, 1}, {0, 1}})
	fmt.Println(a.Shape(), a.Grid().Chunks(), week.Data, err)
	// Output: [91 4 8] [4 1 1] [NaN NaN NaN NaN 0] <nil>
}

// counted returns an array of two rows and three columns in memory.
func counted(ctx context.Context) *zarr.Array {
	a, err := zarr.At(memstore.New(), "a").CreateArray(ctx, zarr.Spec{
		Shape: []int64{2, 3}, Type: dtype.Int16, Chunks: []grid.Cut{grid.Edges(1, 1), grid.Every(2)},
	}, nil)
	if err == nil {
		err = zarr.Write(ctx, a, nil, []int16{1, 2, 3, 4, 5, 6})
	}
	if err != nil {
		log.Fatal(err)
	}
	return a
}

func ExampleRead() {
	ctx := context.Background()
	a := counted(ctx)
	column, err := zarr.Read[int16](ctx, a, selection.Basic{selection.All(), selection.At(-1)})
	fmt.Println(column.Shape, column.Data, err)
	// Output: [2] [3 6] <nil>
}

func ExampleReadInto() {
	ctx := context.Background()
	a := counted(ctx)
	row := make([]int16, 3)
	err := zarr.ReadInto(ctx, a, selection.Box{{1, 2}, {0, 3}}, row)
	fmt.Println(row, err)
	// Output: [4 5 6] <nil>
}

func ExampleWrite() {
	ctx := context.Background()
	a := counted(ctx)
	err := zarr.Write(ctx, a, selection.Box{{0, 2}, {2, 3}}, []int16{30})
	fmt.Println(err)
	// Output: write a: invalid argument: 1 value (2 bytes) for a selection of shape [2 1], which has 2
}

func ExampleFill() {
	ctx := context.Background()
	a := counted(ctx)
	if err := zarr.Fill[int16](ctx, a, selection.Box{{0, 1}, {0, 3}}, 7); err != nil {
		log.Fatal(err)
	}
	b, err := zarr.Read[int16](ctx, a, nil)
	fmt.Println(b.Data, err)
	// Output: [7 7 7 4 5 6] <nil>
}

func ExampleAppend() {
	ctx := context.Background()
	a := counted(ctx)
	err := zarr.Append(ctx, a, 0, []int16{7, 8, 9, 10, 11, 12}, nil)
	fmt.Println(a.Shape(), a.Grid().Axis(0).Sizes(), err)
	// Output: [4 3] [{1 2} {2 1}] <nil>
}

func ExampleArray_Resize() {
	ctx := context.Background()
	a := counted(ctx)
	for _, shape := range [][]int64{{1, 3}, {2, 3}} {
		if err := a.Resize(ctx, shape, nil); err != nil {
			log.Fatal(err)
		}
	}
	b, err := zarr.Read[int16](ctx, a, nil)
	fmt.Println(b.Data, err)
	// Output: [1 2 3 0 0 0] <nil>
}

func ExampleArray_Chunks() {
	a := counted(context.Background())
	for c := range a.Chunks() {
		fmt.Println(c.Key, c.Start, c.Logical, c.Encoded)
	}
	// Output:
	// a/c/0/0 [0 0] [1 2] [1 2]
	// a/c/0/1 [0 2] [1 1] [1 2]
	// a/c/1/0 [1 0] [1 2] [1 2]
	// a/c/1/1 [1 2] [1 1] [1 2]
}

func ExampleArray_UpdateAttributes() {
	ctx := context.Background()
	a := counted(ctx)
	err := a.UpdateAttributes(ctx, func(object []byte) ([]byte, error) {
		return metadata.SetAttribute(object, "units", []byte(`"K"`))
	})
	fmt.Println(string(a.Attributes()), err)
	// Output: {"units":"K"} <nil>
}

func ExampleGroup_Arrays() {
	ctx := context.Background()
	g, err := zarr.At(memstore.New(), "").CreateGroup(ctx, nil, nil)
	if err != nil {
		log.Fatal(err)
	}
	for name, dimension := range map[string]string{"t2m": "time", "lat": "lat", "time": "time"} {
		spec := zarr.Spec{Shape: []int64{3}, Type: dtype.Float32, DimensionNames: []string{dimension}}
		if _, err := g.At(name).CreateArray(ctx, spec, nil); err != nil {
			log.Fatal(err)
		}
	}
	for a, err := range g.Arrays(ctx, &zarr.ArraysOptions{Dimensions: []string{"time"}}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(a.Path())
	}
	// Output:
	// t2m
	// time
}

func ExampleGroup_Members() {
	ctx := context.Background()
	h := zarr.At(memstore.New(), "")
	spec := zarr.Spec{Shape: []int64{4}, Type: dtype.Float32}
	for _, path := range []string{"winter/t2m", "winter/u10", "land"} {
		if _, err := h.At(path).CreateArray(ctx, spec, nil); err != nil {
			log.Fatal(err)
		}
	}
	root, err := h.At("").OpenGroup(ctx, nil)
	if err != nil {
		log.Fatal(err)
	}
	for m, err := range root.Members(ctx, true) {
		fmt.Println(m.Kind, m.Path, err)
	}
	// Output:
	// array land <nil>
	// group winter <nil>
	// array winter/t2m <nil>
	// array winter/u10 <nil>
}

func ExampleError() {
	_, err := zarr.At(memstore.New(), "era5/t2m").OpenArray(context.Background(), nil)
	var at *zarr.Error
	if errors.As(err, &at) {
		fmt.Println(at.Op, at.Path, errors.Is(err, fs.ErrNotExist), zarr.KindOf(err))
	}
	// Output: open era5/t2m true not-found
}

func ExampleSpec() {
	ctx := context.Background()
	a, err := zarr.At(memstore.New(), "").CreateArray(ctx, zarr.Spec{
		Shape:      []int64{1_000_000},
		Type:       dtype.Float64,
		Attributes: map[string]any{"units": "m"},
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	codecs, err := json.Marshal(a.Metadata().Codecs)
	fmt.Println(a.Grid().Axis(0).Step(), string(codecs), string(a.Attributes()), err)
	// Output: 62500 [{"name":"bytes","configuration":{"endian":"little"}},{"name":"zstd","configuration":{"level":0,"checksum":true}}] {"units":"m"} <nil>
}

// A temporary array in a store in memory.
func ExampleAt() {
	ctx := context.Background()
	h := zarr.At(memstore.New(), "")
	g, err := h.At("run").CreateGroup(ctx, map[string]int{"seed": 7}, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(g.Path(), string(g.Attributes()))
	// Output: run {"seed":7}
}

// A group that is open for writing, and an array of it that is open for reading only. An
// option that the group has switched on cannot be switched off for a member: open the
// member by its path in the store, without the options of the group.
func ExampleLocation_Root() {
	ctx := context.Background()
	g, err := zarr.At(memstore.New(), "run").CreateGroup(ctx, nil, nil) // open for writing
	if err != nil {
		log.Fatal(err)
	}
	if _, err := g.At("t2m").CreateArray(ctx, zarr.Spec{Shape: []int64{3}, Type: dtype.Int16}, nil); err != nil {
		log.Fatal(err)
	}
	member, err := g.At("t2m").OpenArray(ctx, &zarr.Options{Write: false})
	if err != nil {
		log.Fatal(err)
	}
	alone, err := g.Location().Root().At("run/t2m").OpenArray(ctx, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(member.Options().Write, alone.Options().Write)
	fmt.Println(zarr.Write(ctx, alone, nil, []int16{1, 2, 3}))
	// Output:
	// true false
	// write run/t2m: opened for reading only (set Options.Write)
}

func ExampleGroup_String() {
	g, err := zarr.At(memstore.New(), "").CreateGroup(context.Background(), nil, nil)
	fmt.Println(g, err)
	// Output: group at / <nil>
}
