package main

import (
	"fmt"
	"math"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/internal/checked"
)

func newEqualCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "equal A B",
		Short: "Compare shape, type and values of two arrays; status 1 where they differ",
		Long: `Compare shape, type and values of two arrays; status 1 where they differ.

Values are equal when their bits are: NaN equals NaN of the same payload, and -0.0 is not 0.0.`,
		Example:           "  varve equal old.zarr/t2m new.zarr/t2m",
		Args:              arguments("A", "B"),
		ValidArgsFunction: completeNode,
		RunE:              func(cmd *cobra.Command, args []string) error { return equal(cmd, args[0], args[1]) },
	}
}

// differenceFacts is where two arrays differ, as programs read it.
type differenceFacts struct {
	What  string  `json:"what"`
	Index []int64 `json:"index"`
	A     string  `json:"a"`
	B     string  `json:"b"`
}

// logicalBytes returns how many bytes all elements of an array are, 0 where nobody knows.
func logicalBytes(a *zarr.Array) int64 {
	n, ok := checked.Product(a.Shape()...)
	if ok = ok && !a.Type().Variable(); ok {
		n, ok = checked.Mul(n, int64(a.Type().Size()))
	}
	if !ok || n > math.MaxInt64/2 {
		return 0
	}
	return n
}

func equal(cmd *cobra.Command, locationA, locationB string) error {
	a, err := openArray(cmd, locationA)
	if err != nil {
		return err
	}
	defer a.Close()
	b, err := openArray(cmd, locationB)
	if err != nil {
		return err
	}
	defer b.Close()
	p := newEstimate(cmd, "comparing", 2*logicalBytes(a), decodedBytes)
	d, err := zarr.Compare(cmd.Context(), a, b)
	p.end()
	if err != nil {
		return err
	}
	if wantsJSON(cmd) {
		err = printJSON(cmd, struct {
			Equal      bool             `json:"equal"`
			Difference *differenceFacts `json:"difference"`
		}{d == nil, (*differenceFacts)(d)})
	}
	if d != nil && err == nil {
		err = verdict(fmt.Sprintf("%s and %s are not equal: %s", locationA, locationB, d))
	}
	return err
}
