package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/selection"
)

// parseIntegers reads whole numbers separated by commas. Empty text has none: the shape and the index of rank 0.
func parseIntegers(text string) ([]int64, error) {
	numbers := []int64{}
	if strings.TrimSpace(text) == "" {
		return numbers, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		n, err := strconv.ParseInt(strings.TrimSpace(part), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%q is no whole number that fits into 64 bits", part)
		}
		numbers = append(numbers, n)
	}
	return numbers, nil
}

// parseShape reads lengths: whole numbers of at least 0.
func parseShape(text string) ([]int64, error) {
	shape, err := parseIntegers(text)
	for _, n := range shape {
		if n < 0 {
			return nil, fmt.Errorf("\"%d\" is less than 0", n)
		}
	}
	return shape, err
}

// shapeFlag gives a command the flag --shape.
func shapeFlag(cmd *cobra.Command, p *string, usage string) {
	checkedVar(cmd.Flags(), p, "shape", "", usage, syntax(parseShape))
}

// selectionFlag gives a command the flag --select.
func selectionFlag(cmd *cobra.Command) *string {
	sel := new(string)
	checkedVar(cmd.Flags(), sel, "select", "", "the `ELEMENTS` meant: 0:10, ..., 3, ::2 or time=0:10; everything by default", selectable)
	return sel
}

// entryText is what an entry of a selection looks like, of whatever array: an index, a slice or an ellipsis.
var entryText = regexp.MustCompile(`^\s*([^=]+=)?\s*(\.\.\.|[-+]?\d+|([-+]?\d+)?\s*:\s*([-+]?\d+)?\s*(:\s*([-+]?\d+)?)?)\s*$`)

// selectable refuses text that selects nothing of any array.
func selectable(text string) error {
	if isJSONSelection(text) || strings.TrimSpace(text) == "" {
		return nil
	}
	for entry := range strings.SplitSeq(text, ",") {
		if !entryText.MatchString(entry) {
			return fmt.Errorf("%q is no index, slice or ellipsis", strings.TrimSpace(entry))
		}
	}
	return nil
}

func isJSONSelection(text string) bool { return strings.HasPrefix(strings.TrimSpace(text), "{") }

// selected returns the selection that --select names for an array.
func selected(a *zarr.Array, text string) (*selection.Resolved, selection.Selection, error) {
	if isJSONSelection(text) {
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
