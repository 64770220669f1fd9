package main

import (
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/selection"
)

// parseIndex reads whole numbers of at least 0 separated by commas, as shapes and indices are written.
// Empty text has none: the shape and the index of rank 0.
func parseIndex(flag, text string) ([]int64, error) {
	numbers := []int64{}
	if strings.TrimSpace(text) == "" {
		return numbers, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		n, err := strconv.ParseInt(strings.TrimSpace(part), 10, 64)
		if err != nil || n < 0 {
			return nil, badArgument("--%s %q: %q is no whole number of at least 0 that fits into 64 bits", flag, text, part)
		}
		numbers = append(numbers, n)
	}
	return numbers, nil
}

// selectionFlag gives a command the flag --select.
func selectionFlag(cmd *cobra.Command) *string {
	return cmd.Flags().String("select", "", "the `ELEMENTS` meant: 0:10, ..., 3, ::2 or time=0:10; everything by default")
}

// selected returns the selection that --select names for an array.
func selected(a *zarr.Array, text string) (*selection.Resolved, selection.Selection, error) {
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		return nil, nil, unsupported("--select %s: JSON selections are not supported yet, only text as 0:10,3", text)
	}
	names := a.DimensionNames()
	if names == nil {
		names = make([]string, a.Rank())
	}
	basic, err := selection.Parse(text, names)
	if err != nil {
		return nil, nil, badArgument("--select %q: %w", text, err)
	}
	r, err := a.Select(basic)
	return r, basic, err
}
