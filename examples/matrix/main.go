// SPDX-License-Identifier: Apache-2.0

// Matrix prints the singular values of an array of rank 2, with package mat of gonum. A
// block in C order already has the layout of a dense matrix, so nothing is copied.
//
//	matrix design.zarr
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"

	"gonum.org/v1/gonum/mat"
	"varve.dev/zarr"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: matrix ARRAY")
	}
	if err := run(context.Background(), os.Stdout, os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer, location string) error {
	a, err := zarr.OpenArray(ctx, location, nil)
	if err != nil {
		return err
	}
	defer a.Close()
	m, err := read(ctx, a)
	if err != nil {
		return err
	}
	var svd mat.SVD
	if !svd.Factorize(m, mat.SVDNone) {
		return fmt.Errorf("%s: the decomposition does not converge", location)
	}
	fmt.Fprintf(out, "%.4g\n", svd.Values(nil))
	return nil
}

// read returns an array of rank 2 as a matrix. Numbers of other types are converted if
// every value fits.
func read(ctx context.Context, a *zarr.Array) (*mat.Dense, error) {
	if a.Rank() != 2 {
		return nil, fmt.Errorf("%s has rank %d, want 2", a.Path(), a.Rank())
	}
	b, err := zarr.ReadAs[float64](ctx, a, nil)
	if err != nil {
		return nil, err
	}
	return mat.NewDense(int(b.Shape[0]), int(b.Shape[1]), b.Data), nil
}
