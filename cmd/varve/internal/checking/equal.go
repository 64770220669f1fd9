// SPDX-License-Identifier: Apache-2.0

package checking

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/element"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/progress"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/cmd/varve/internal/spelling"
	"varve.dev/zarr/cmd/varve/internal/usage"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/checked"
)

// NewEqual returns the command equal.
func NewEqual() *cobra.Command {
	return &cobra.Command{
		Use:   "equal A B",
		Short: "Compare shape, type and values of two arrays, or of all arrays of two groups; status 1 if they differ",
		Long: `Compare shape, type and values of two arrays, or of all arrays of two groups; status 1 if they differ.

Groups are equal if they have the same arrays, by path, and these are equal. Attributes, chunks and codecs are not
compared. Values are equal if their bits are equal: NaN equals NaN with the same payload, and -0.0 differs from 0.0.`,
		Example:           "  varve equal old.zarr/t2m new.zarr/t2m",
		Args:              usage.Arguments("A", "B"),
		ValidArgsFunction: node.Complete,
		RunE:              func(cmd *cobra.Command, args []string) error { return equal(cmd, args[0], args[1]) },
	}
}

// differenceFacts is the first difference of two arrays, in the form of --json.
type differenceFacts struct {
	What  string  `json:"what"`
	Index []int64 `json:"index"`
	A     string  `json:"a"`
	B     string  `json:"b"`
}

// logicalBytes returns the size of all elements of an array in bytes, 0 if it is unknown.
func logicalBytes(a *zarr.Array) int64 {
	n, ok := checked.Product(a.Shape()...)
	if ok = ok && !a.Type().Variable(); ok {
		n, ok = checked.Mul(n, int64(a.Type().Size()))
	}
	// The caller doubles the number.
	if !ok || n > math.MaxInt64/2 {
		return 0
	}
	return n
}

func equal(cmd *cobra.Command, locationA, locationB string) error {
	n, err := node.Open(cmd, locationA)
	if err != nil {
		return err
	}
	defer n.Close()
	// If only one node is a group, OpenArray below says which one it is.
	if a, ok := n.(*zarr.Group); ok {
		m, err := node.Open(cmd, locationB)
		if err != nil {
			return err
		}
		defer m.Close()
		if b, ok := m.(*zarr.Group); ok {
			return equalGroups(cmd, a, b, locationA, locationB)
		}
	}
	a, err := node.OpenArray(cmd, locationA)
	if err != nil {
		return err
	}
	defer a.Close()
	b, err := node.OpenArray(cmd, locationB)
	if err != nil {
		return err
	}
	defer b.Close()
	d, err := compareArrays(cmd, a, b)
	if err != nil {
		return err
	}
	if session.WantsJSON(cmd) {
		err = session.PrintJSON(cmd, struct {
			Equal      bool             `json:"equal"`
			Difference *differenceFacts `json:"difference"`
		}{d == nil, (*differenceFacts)(d)})
	}
	if d != nil && err == nil {
		err = failure.Verdict(fmt.Sprintf("%s and %s are not equal: %s", locationA, locationB, differenceText(a, d)))
	}
	if err == nil {
		session.Confirm(cmd, "%s and %s are equal", locationA, locationB)
	}
	return err
}

// compareArrays compares two arrays and shows the progress.
func compareArrays(cmd *cobra.Command, a, b *zarr.Array) (*zarr.Difference, error) {
	p := progress.NewEstimate(cmd, "comparing", 2*logicalBytes(a), progress.DecodedBytes)
	defer p.End()
	return zarr.Compare(cmd.Context(), a, b)
}

// differenceText describes a difference, with times and durations as cat prints them.
func differenceText(a *zarr.Array, d *zarr.Difference) string {
	t := a.Type()
	// Only times and durations are spelled differently in metadata.
	if k := t.Kind(); d.Index == nil || k != dtype.KindDatetime && k != dtype.KindTimedelta {
		return d.String()
	}
	shown := *d
	for _, raw := range []*string{&shown.A, &shown.B} {
		if elem, err := t.ParseFill([]byte(*raw)); err == nil {
			*raw = element.Text(t)(elem)
		}
	}
	return shown.String()
}

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
