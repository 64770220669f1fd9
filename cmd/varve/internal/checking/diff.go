// SPDX-License-Identifier: Apache-2.0

package checking

import (
	"bufio"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/check/diff"
	"varve.dev/zarr/cmd/varve/internal/consolidated"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/progress"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/cmd/varve/internal/usage"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/consolidation"
	"varve.dev/zarr/store"
)

// NewDiff returns the command diff.
func NewDiff() *cobra.Command {
	c := &cobra.Command{
		Use:   "diff A B",
		Short: "Say in what two nodes differ: attributes, shapes, types, members, and the regions of values; status 1 if they do",
		Long: `Say in what two nodes differ: attributes, shapes, types, members, and the regions of values; status 1 if they do.

Groups are compared with all that is below them. Of values each line has a region: how many of its elements differ, by
how much at most, and the first of them. Arrays of different shapes are compared where they overlap. Arrays of
different types are not.

Chunks, codecs, key encodings and formats do not count as differences, because a copy that was rechunked or converted
is equal to the original. Nor do varve:growth, varve:follow and varve:pyramid, attributes that Varve keeps about one
array, nor _FillValue and missing_value if the same values are missing in both: format 2 has the fill value in place of
_FillValue. All these are listed below the differences, and are in "storage" with --json.

Values are equal if their bits are: NaN equals NaN with the same payload, and -0.0 differs from 0.0. With --atol and
--rtol, numbers are equal if |a - b| is at most ATOL + RTOL * |b|, and all NaNs are equal. Times have only --atol.

Each chunk is decoded once if both grids have enough borders in common. Chunks of two arrays with the same grid and
codecs are not decoded if their stored bytes are equal. varve equal stops at the first difference of values.

Where a chunk or a document cannot be read, the rest is compared, and a line names the node and the first such chunk.
The status is 1 then, and "equal" is false with --json, which has these nodes in "not_compared".`,
		Example: `  varve diff old.zarr new.zarr
  varve diff old.zarr/t2m new.zarr/t2m --atol 0.01 --json`,
		Args:              usage.Arguments("A", "B"),
		ValidArgsFunction: node.Complete,
	}
	opt := &diff.Options{}
	c.Flags().Float64Var(&opt.Absolute, "atol", 0, "numbers whose distance is at most `DISTANCE` are equal")
	c.Flags().Float64Var(&opt.Relative, "rtol", 0, "numbers whose distance is at most `PART` of the one in B are equal")
	c.Flags().IntVar(&opt.Regions, "regions", 1000, "list at most `N` regions of each array; the last one has all others")
	c.RunE = func(cmd *cobra.Command, args []string) error { return diffNodes(cmd, args[0], args[1], opt) }
	return c
}

// diffFacts is the result of varve diff in the form of --json.
type diffFacts struct {
	Equal       bool             `json:"equal"`
	Differences []differenceFact `json:"differences"`
	Storage     []differenceFact `json:"storage"`
	Arrays      int64            `json:"arrays_compared"`
	Elements    int64            `json:"elements_compared"`
	Alike       int64            `json:"chunks_not_decoded"`
	Unread      []unreadFact     `json:"not_compared"`
}

// unreadFact is a node that could not be compared completely.
type unreadFact struct {
	Path    string  `json:"path"`
	Chunks  int64   `json:"chunks"` // 0 if nothing of the node was compared
	Key     string  `json:"key,omitempty"`
	Chunk   []int64 `json:"chunk"` // the first one; null without chunks
	Message string  `json:"message"`
}

// differenceFact is one difference.
type differenceFact struct {
	Path    string    `json:"path"`
	Kind    diff.Kind `json:"kind"`
	Name    string    `json:"name,omitempty"` // of an attribute
	Region  [][]int64 `json:"region"`         // start and stop along each axis; null except for values
	Count   *int64    `json:"count"`          // null except for values
	Largest *float64  `json:"largest"`        // null if no two finite numbers differ
	First   []int64   `json:"first"`          // null except for values
	A       string    `json:"a"`
	B       string    `json:"b"`
	Message string    `json:"message"`
}

func diffNodes(cmd *cobra.Command, locationA, locationB string, opt *diff.Options) error {
	if opt.Absolute < 0 || opt.Relative < 0 || opt.Regions < 1 {
		return failure.BadUsage("--atol and --rtol must not be negative, and --regions must be at least 1")
	}
	a, err := node.Open(cmd, locationA)
	if err != nil {
		return err
	}
	defer a.Close()
	b, err := node.Open(cmd, locationB)
	if err != nil {
		return err
	}
	defer b.Close()
	x, err := asStored(cmd, locationA, a)
	if err != nil {
		return err
	}
	y, err := asStored(cmd, locationB, b)
	if err != nil {
		return err
	}
	r, err := compareNodes(cmd, x, y, *opt)
	if err != nil {
		return err
	}
	if session.WantsJSON(cmd) {
		err = session.PrintJSON(cmd, diffFactsOf(r))
	} else {
		err = session.Print(cmd, func(w *bufio.Writer) error { return writeDiff(w, r) })
	}
	if err != nil {
		return err
	}
	different := phrase.Plural(int64(len(r.Differences)), "difference")
	unread := phrase.Plural(int64(len(r.Unread)), "node")
	switch {
	case len(r.Differences) > 0 && len(r.Unread) > 0:
		return failure.Verdict(fmt.Sprintf("%s and %s differ: %s, and %s not compared completely", locationA, locationB, different, unread))
	case len(r.Unread) > 0:
		return failure.Verdict(fmt.Sprintf("%s and %s: %s not compared completely", locationA, locationB, unread))
	case len(r.Differences) > 0:
		return failure.Verdict(fmt.Sprintf("%s and %s differ: %s", locationA, locationB, different))
	}
	session.Confirm(cmd, "%s and %s do not differ: %s compared", locationA, locationB, phrase.Plural(r.Arrays, "array"))
	return nil
}

// asStored returns a group without its consolidated metadata if that is stale, and adds a
// note about it.
func asStored(cmd *cobra.Command, location string, n zarr.Node) (zarr.Node, error) {
	g, isGroup := n.(*zarr.Group)
	if !isGroup {
		return n, nil
	}
	stale, err := consolidation.Stale(cmd.Context(), g.Location(), g.Metadata(), nil)
	if stale != nil {
		session.Remark(cmd, location, consolidated.StaleText(stale))
	}
	if errors.Is(err, store.ErrUnusable) { // all nodes are there
		err = nil
	}
	return consolidation.AsStored(g, stale), err
}

// compareNodes compares two nodes and shows the progress.
func compareNodes(cmd *cobra.Command, a, b zarr.Node, opt diff.Options) (*diff.Report, error) {
	total := int64(0) // unknown for groups
	if x, ok := a.(*zarr.Array); ok {
		total, _ = grid.BoxOf(x.Shape()).Len()
	}
	p := progress.NewCount(cmd, "elements", total)
	defer p.End()
	opt.Progress = p.Add
	return diff.Nodes(cmd.Context(), a, b, &opt)
}

// writeDiff writes one line for every difference.
func writeDiff(w *bufio.Writer, r *diff.Report) error {
	for _, d := range r.Differences {
		fmt.Fprintf(w, "%s  %s\n", nodeName(d.Path), phrase.Printable(d.String()))
	}
	for _, d := range r.Storage {
		fmt.Fprintf(w, "%s  storage only: %s\n", nodeName(d.Path), phrase.Printable(d.String()))
	}
	for _, u := range r.Unread {
		u.Err = errors.New(failure.OneLine(u.Err))
		fmt.Fprintf(w, "%s  %s\n", nodeName(u.Path), phrase.Printable(u.String()))
	}
	return nil
}

// nodeName returns the relative path of a node as it is printed.
func nodeName(path string) string {
	if path == "" {
		return "."
	}
	return phrase.Printable(path)
}

func diffFactsOf(r *diff.Report) *diffFacts {
	facts := &diffFacts{
		Equal: r.Equal(), Differences: differenceFactsOf(r.Differences), Storage: differenceFactsOf(r.Storage),
		Arrays: r.Arrays, Elements: r.Elements, Alike: r.Alike, Unread: []unreadFact{},
	}
	for _, u := range r.Unread {
		f := unreadFact{Path: u.Path, Chunks: u.Chunks, Message: failure.OneLine(u.Err)}
		if e := (*zarr.Error)(nil); errors.As(u.Err, &e) {
			f.Key, f.Chunk = e.Key, e.Chunk
		}
		facts.Unread = append(facts.Unread, f)
	}
	return facts
}

func differenceFactsOf(list []diff.Difference) []differenceFact {
	facts := []differenceFact{} // programs read a list, never null
	for _, d := range list {
		f := differenceFact{Path: d.Path, Kind: d.Kind, Name: d.Name, A: d.A, B: d.B, Message: d.String()}
		if d.Kind == "values" {
			f.Region, f.Count, f.First = [][]int64{}, &d.Count, d.First
			for _, in := range d.Region {
				f.Region = append(f.Region, []int64{in.Start, in.Stop})
			}
			if d.Largest >= 0 {
				f.Largest = &d.Largest
			}
		}
		facts = append(facts, f)
	}
	return facts
}

// Comparison is what varve diff finds in two arrays.
type Comparison struct {
	Facts  any // in JSON
	report *diff.Report
}

// Compare compares two arrays, which lines call by a path.
func Compare(cmd *cobra.Command, locationA, locationB, path string) (*Comparison, error) {
	a, err := node.Open(cmd, locationA)
	if err != nil {
		return nil, err
	}
	defer a.Close()
	b, err := node.Open(cmd, locationB)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	r, err := compareNodes(cmd, a, b, diff.Options{Regions: 1000})
	if err != nil {
		return nil, err
	}
	facts := diffFactsOf(r)
	for _, list := range []*[]diff.Difference{&r.Differences, &r.Storage} {
		for i := range *list {
			(*list)[i].Path = path
		}
	}
	return &Comparison{facts, r}, nil
}

// Values writes one line for every region of values that differ, and for what could not
// be compared. It returns false if there is none.
func (c *Comparison) Values(w *bufio.Writer) bool {
	r := &diff.Report{Unread: c.report.Unread}
	for _, d := range c.report.Differences {
		if d.Kind == "values" {
			r.Differences = append(r.Differences, d)
		}
	}
	_ = writeDiff(w, r) // the error of a bufio.Writer stays until it is flushed
	return len(r.Differences)+len(r.Unread) > 0
}
