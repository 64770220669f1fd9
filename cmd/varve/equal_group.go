// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/cmd/varve/internal/spelling"
)

// groupComparison compares the arrays of two groups, in the form of --json. Paths are
// relative to the groups.
type groupComparison struct {
	Equal    bool           `json:"equal"`
	Compared int            `json:"arrays_compared"` // arrays that both groups have
	Differ   []arrayDiffers `json:"arrays_different"`
	OnlyA    []string       `json:"arrays_only_in_a"`
	OnlyB    []string       `json:"arrays_only_in_b"`
}

// arrayDiffers is an array that differs between two groups.
type arrayDiffers struct {
	Path       string           `json:"path"`
	Difference *differenceFacts `json:"difference"`

	text string // the difference in words
}

// equalGroups compares all arrays below two groups.
func equalGroups(cmd *cobra.Command, a, b *zarr.Group, locationA, locationB string) error {
	c := &groupComparison{Differ: []arrayDiffers{}, OnlyA: []string{}, OnlyB: []string{}}
	if err := c.compare(cmd, a, b); err != nil {
		return err
	}
	if session.WantsJSON(cmd) {
		if err := session.PrintJSON(cmd, c); err != nil {
			return err
		}
	}
	if c.Equal {
		session.Confirm(cmd, "%s and %s are equal: %s compared", locationA, locationB, phrase.Plural(int64(c.Compared), "array"))
		return nil
	}
	return failure.Verdict(fmt.Sprintf("%s and %s are not equal: %s", locationA, locationB, c.text()))
}

func (c *groupComparison) compare(cmd *cobra.Command, a, b *zarr.Group) error {
	inA, errA := arraysBelow(cmd, a)
	inB, errB := arraysBelow(cmd, b)
	if err := errors.Join(errA, errB); err != nil {
		return err
	}
	for _, path := range slices.Sorted(maps.Keys(inA)) {
		if inB[path] == nil {
			c.OnlyA = append(c.OnlyA, path)
			continue
		}
		d, err := compareArrays(cmd, inA[path], inB[path])
		if err != nil {
			return err
		}
		if c.Compared++; d != nil {
			c.Differ = append(c.Differ, arrayDiffers{path, (*differenceFacts)(d), differenceText(inA[path], d)})
		}
	}
	for _, path := range slices.Sorted(maps.Keys(inB)) {
		if inA[path] == nil {
			c.OnlyB = append(c.OnlyB, path)
		}
	}
	c.Equal = len(c.Differ)+len(c.OnlyA)+len(c.OnlyB) == 0
	return nil
}

// arraysBelow returns the arrays below a group by their paths. It fails if one of them
// cannot be opened.
func arraysBelow(cmd *cobra.Command, g *zarr.Group) (map[string]*zarr.Array, error) {
	arrays := map[string]*zarr.Array{}
	for m, err := range g.Members(cmd.Context(), true) {
		if err = errors.Join(err, m.Err); err != nil {
			return nil, err
		}
		if a, ok := m.Node.(*zarr.Array); ok {
			arrays[m.Path] = a
		}
	}
	return arrays, nil
}

// text describes in short how the groups differ.
func (c *groupComparison) text() string {
	var parts []string
	if len(c.Differ) > 0 {
		first := c.Differ[0]
		parts = append(parts, fmt.Sprintf("%d of %s differ; the first is %s: %s", len(c.Differ),
			phrase.Plural(int64(c.Compared), "array"), first.Path, first.text))
	} else {
		parts = append(parts, phrase.Plural(int64(c.Compared), "array")+" in both are equal")
	}
	for _, only := range []struct {
		where string
		paths []string
	}{{"A", c.OnlyA}, {"B", c.OnlyB}} {
		if n := len(only.paths); n > 0 {
			named := strings.Join(only.paths[:min(n, spelling.Most)], ", ")
			parts = append(parts, fmt.Sprintf("%s only in %s (%s)", phrase.Plural(int64(n), "array"), only.where, named))
		}
	}
	return strings.Join(parts, "; ")
}
