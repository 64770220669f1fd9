// SPDX-License-Identifier: Apache-2.0

// Picture writes one field of an array as a PNG in shades of grey. The last two axes are
// rows and columns; the others are at the given index.
//
//	picture era5.zarr/t2m 17 field.png
package main

import (
	"context"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"log"
	"math"
	"os"
	"strconv"

	"varve.dev/zarr"
	"varve.dev/zarr/selection"
)

func main() {
	if len(os.Args) != 4 {
		log.Fatal("usage: picture ARRAY INDEX FILE")
	}
	if err := run(context.Background(), os.Args[1], os.Args[2], os.Args[3]); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, location, index, file string) error {
	i, err := strconv.ParseInt(index, 10, 64)
	if err != nil {
		return err
	}
	a, err := zarr.OpenArray(ctx, location, nil)
	if err != nil {
		return err
	}
	defer a.Close()
	var sel selection.Basic
	for range a.Rank() - 2 {
		sel = append(sel, selection.At(i))
	}
	b, err := zarr.ReadAs[float64](ctx, a, sel)
	if err != nil {
		return err
	}
	if len(b.Shape) != 2 {
		return fmt.Errorf("%s has rank %d, want 2 or more", location, a.Rank())
	}
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	if err := png.Encode(f, newField(b)); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// field is a block of rank 2 as an image. It implements [image.Image].
type field struct {
	zarr.Block[float64]
	low, high float64
}

func newField(b zarr.Block[float64]) *field {
	f := &field{b, math.Inf(1), math.Inf(-1)}
	for _, v := range b.Data {
		if !math.IsNaN(v) {
			f.low, f.high = min(f.low, v), max(f.high, v)
		}
	}
	return f
}

// ColorModel implements [image.Image].
func (f *field) ColorModel() color.Model { return color.NRGBAModel }

// Bounds implements [image.Image].
func (f *field) Bounds() image.Rectangle {
	return image.Rect(0, 0, int(f.Shape[1]), int(f.Shape[0]))
}

// At implements [image.Image]. Missing elements are transparent.
func (f *field) At(x, y int) color.Color {
	v := f.Block.At(int64(y), int64(x))
	if math.IsNaN(v) {
		return color.NRGBA{}
	}
	grey := uint8(255 * (v - f.low) / max(f.high-f.low, math.SmallestNonzeroFloat64))
	return color.NRGBA{grey, grey, grey, 255}
}
