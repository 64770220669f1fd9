// SPDX-License-Identifier: Apache-2.0

package zarr_test

import (
	"context"
	"fmt"
	"log"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/store/memstore"
)

// An array of format 2 is created and grows like any other. Its codecs are described as
// in format 3.
func ExampleSpec_format2() {
	ctx := context.Background()
	h := zarr.At(memstore.New(), "")
	a, err := h.At("old/t2m").CreateArray(ctx, zarr.Spec{
		Format: 2, Shape: []int64{2, 3}, Type: dtype.Float32, Chunks: grid.Chunks(2, 3), DimensionNames: []string{"time", "x"},
	}, nil)
	if err == nil {
		err = zarr.Append(ctx, a, 0, []float32{1, 2, 3}, nil)
	}
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("format", a.Format(), "shape", a.Shape(), string(a.Attributes()))
	for _, c := range a.Metadata().Codecs {
		fmt.Println(c.Name, string(c.Configuration))
	}
	// Output:
	// format 2 shape [3 3] {"_ARRAY_DIMENSIONS":["time","x"]}
	// bytes {"endian":"little"}
	// zstd {"level":0,"checksum":false}
}

// One call creates a hierarchy. It writes all documents in one batch, parents first, and
// adds the groups between them.
func ExampleLocation_Create() {
	ctx := context.Background()
	h := zarr.At(memstore.New(), "")
	field := zarr.Spec{Shape: []int64{365, 36, 72}, Type: dtype.Float32, DimensionNames: []string{"time", "lat", "lon"}}
	_, err := h.Create(ctx, map[string]zarr.NodeSpec{
		"":               zarr.GroupSpec{Attributes: map[string]string{"title": "reanalysis"}},
		"surface/t2m":    field,
		"surface/precip": field,
		"levels":         zarr.GroupSpec{},
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	g, err := h.At("").OpenGroup(ctx, nil)
	if err != nil {
		log.Fatal(err)
	}
	for m, err := range g.Members(ctx, true) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(m.Kind, m.Path)
	}
	// Output:
	// group levels
	// group surface
	// array surface/precip
	// array surface/t2m
}

// A copy of an array, with changes to its Spec.
func ExampleArray_Spec() {
	ctx := context.Background()
	h := zarr.At(memstore.New(), "")
	a, err := h.At("a").CreateArray(ctx, zarr.Spec{
		Shape: []int64{6}, Type: dtype.Int32, Chunks: []grid.Cut{grid.Edges(1, 2, 3)}, DimensionNames: []string{"month"}, FillValue: zarr.FillJSON("-1"),
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	spec := a.Spec()
	spec.Attributes = map[string]string{"units": "K"}
	b, err := h.At("b").CreateArray(ctx, spec, nil)
	if err != nil {
		log.Fatal(err)
	}
	values, err := zarr.Read[int32](ctx, b, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(b.Grid().Name(), b.DimensionNames(), string(b.Attributes()), values.Data)
	// Output:
	// rectilinear [month] {"units":"K"} [-1 -1 -1 -1 -1 -1]
}
