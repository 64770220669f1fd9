// SPDX-License-Identifier: Apache-2.0

package exchange

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr/cmd/varve/internal/checking"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/cmd/varve/internal/usage"
	"varve.dev/zarr/icechunk"
)

// diffFacts is the result of the action diff, in the form of --json.
type diffFacts struct {
	From          string                `json:"from"`
	To            string                `json:"to"`
	Logged        bool                  `json:"from_logs"`
	NewGroups     []string              `json:"new_groups"`
	NewArrays     []string              `json:"new_arrays"`
	DeletedGroups []string              `json:"deleted_groups"`
	DeletedArrays []string              `json:"deleted_arrays"`
	UpdatedGroups []string              `json:"updated_groups"`
	UpdatedArrays []string              `json:"updated_arrays"`
	Moved         [][2]string           `json:"moved"`
	Documents     map[string][]member   `json:"documents"`
	Chunks        map[string]chunkFacts `json:"chunks"`
	Values        map[string]any        `json:"values,omitempty"` // by array, as varve diff has them

	compared []string // the arrays of regions
	regions  []*checking.Comparison
}

// member is a part of a document that differs. A or B is null where it is missing.
type member struct {
	Name string          `json:"name"` // such as shape, chunk_grid.name or attributes.units
	A    json.RawMessage `json:"a"`
	B    json.RawMessage `json:"b"`
}

// chunkFacts are the chunks of an array that differ.
type chunkFacts struct {
	Count   int         `json:"count"`
	Range   [][2]uint32 `json:"range"` // start and stop of their indices along each axis
	Indices [][]uint32  `json:"indices"`
}

// NewDiff returns the action diff.
func NewDiff() *cobra.Command {
	c := &cobra.Command{
		Use:   "diff REPOSITORY A B",
		Short: "Say what has changed from one snapshot to another: nodes, attributes and chunks; status 1 if anything has",
		Long: `Say what has changed from one snapshot to another: nodes, attributes and chunks. A and B are branches, tag:NAME,
snapshots or times. If A led to B, this is read from the transaction logs of the commits between them. Otherwise the
nodes and the references of both are compared. No chunk is read. The status is 1 if something has changed.

With --values, arrays that are in both are compared element by element, as varve diff does: where they overlap, if their
shapes differ.`,
		Example: `  varve icechunk diff /data/era5 tag:v1 main
  varve icechunk diff s3://bucket/era5 2026-01-01 main --values --json`,
		Args: usage.Arguments("REPOSITORY", "A", "B"),
	}
	values := c.Flags().Bool("values", false, "also say which regions of elements differ")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		return compare(cmd, args[0], args[1], args[2], *values)
	}
	return c
}

func compare(cmd *cobra.Command, location, from, to string, values bool) (err error) {
	repository, at, path, err := icechunk.ParseLocation(location)
	if err == nil && at+path != "" {
		err = failure.BadArgument("%s leads to a snapshot or a node: give the repository, and the snapshots as A and B", location)
	}
	if err != nil {
		return err
	}
	r, err := open(cmd, repository)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	d, err := r.Diff(cmd.Context(), from, to)
	if err != nil {
		return failure.On(cmd.Name(), session.WithoutSecrets(repository), err)
	}
	f := factsOf(d)
	if values {
		if err := f.addValues(cmd, location, d); err != nil {
			return err
		}
	}
	shown := session.WithoutSecrets(repository)
	if session.WantsJSON(cmd) {
		err = session.PrintJSON(cmd, f)
	} else {
		err = session.Print(cmd, f.print)
	}
	switch {
	case err != nil:
		return err
	case f.isEqual() && !session.WantsJSON(cmd):
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s  %s and %s have the same nodes and chunks\n", phrase.Printable(shown), phrase.Printable(from), phrase.Printable(to))
		return err
	case f.isEqual():
		return nil
	}
	return failure.Verdict(fmt.Sprintf("%s and %s of %s differ: %s", from, to, shown, f.summary()))
}

// summary counts what has changed.
func (f *diffFacts) summary() string {
	var parts []string
	if n := len(f.NewGroups) + len(f.NewArrays) + len(f.DeletedGroups) + len(f.DeletedArrays) + len(f.UpdatedGroups) + len(f.UpdatedArrays) + len(f.Moved); n > 0 {
		parts = append(parts, phrase.Plural(int64(n), "node"))
	}
	if len(f.Chunks) > 0 {
		parts = append(parts, "chunks of "+phrase.Plural(int64(len(f.Chunks)), "array"))
	}
	return strings.Join(parts, ", ")
}

// isEqual reports whether nothing has changed.
func (f *diffFacts) isEqual() bool {
	return len(f.NewGroups)+len(f.NewArrays)+len(f.DeletedGroups)+len(f.DeletedArrays)+len(f.UpdatedGroups)+len(f.UpdatedArrays)+len(f.Moved)+len(f.Chunks) == 0
}

func factsOf(d *icechunk.Diff) *diffFacts {
	f := &diffFacts{From: d.From.String(), To: d.To.String(), Logged: d.Logged, Moved: [][2]string{}, Documents: map[string][]member{}, Chunks: map[string]chunkFacts{}}
	for to, list := range map[*[]string][]string{
		&f.NewGroups: d.NewGroups, &f.NewArrays: d.NewArrays, &f.DeletedGroups: d.DeletedGroups,
		&f.DeletedArrays: d.DeletedArrays, &f.UpdatedGroups: d.UpdatedGroups, &f.UpdatedArrays: d.UpdatedArrays,
	} {
		*to = append([]string{}, list...) // programs read a list, never null
	}
	for _, m := range d.Moved {
		f.Moved = append(f.Moved, [2]string{m.From, m.To})
	}
	for path, docs := range d.Documents {
		f.Documents[path] = membersOf(docs[0], docs[1])
	}
	for path, indices := range d.Chunks {
		f.Chunks[path] = chunkFacts{len(indices), rangeOf(indices), indices}
	}
	return f
}

// rangeOf returns the smallest range that has all indices. A log may have some of another
// rank: the reference lets an array change its rank.
func rangeOf(indices [][]uint32) [][2]uint32 {
	all := [][2]uint32{}
	for _, index := range indices {
		for axis, n := range index {
			if axis == len(all) {
				all = append(all, [2]uint32{n, n + 1})
			}
			all[axis] = [2]uint32{min(all[axis][0], n), max(all[axis][1], n+1)}
		}
	}
	return all
}

// membersOf returns the members of two documents that differ, those of objects one by
// one, but each attribute as a whole.
func membersOf(a, b []byte) []member {
	list := []member{}
	var add func(prefix string, a, b []byte)
	add = func(prefix string, a, b []byte) {
		var x, y map[string]json.RawMessage
		_, _ = json.Unmarshal(a, &x), json.Unmarshal(b, &y) // a document that is no object has no members
		names := map[string]bool{}
		for _, m := range []map[string]json.RawMessage{x, y} {
			for name := range m {
				names[name] = true
			}
		}
		for _, name := range slices.Sorted(maps.Keys(names)) {
			switch {
			case phrase.Compact(x[name]) == phrase.Compact(y[name]):
			case prefix == "" && name == "attributes", prefix != "attributes." && isObject(x[name]) && isObject(y[name]):
				add(prefix+name+".", x[name], y[name])
			default:
				list = append(list, member{prefix + name, x[name], y[name]})
			}
		}
	}
	add("", a, b)
	return list
}

// isObject reports whether a value of a document is an object.
func isObject(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] == '{' }

// addValues compares the elements of arrays that are in both snapshots and have changed.
func (f *diffFacts) addValues(cmd *cobra.Command, location string, d *icechunk.Diff) error {
	f.Values = map[string]any{}
	base, err := nodeIn(location)
	if err != nil {
		return err
	}
	base, query, hasQuery := strings.Cut(base, "?")
	at := func(id icechunk.ID, path string) string {
		text := fmt.Sprintf("%s@%v/%s", strings.TrimSuffix(base, "/"), id, path)
		if hasQuery {
			text += "?" + query
		}
		return text
	}
	changed := slices.Concat(d.UpdatedArrays, slices.Collect(maps.Keys(d.Chunks)))
	slices.Sort(changed)
	for _, path := range slices.Compact(changed) {
		if slices.Contains(d.NewArrays, path) || slices.Contains(d.DeletedArrays, path) {
			continue
		}
		c, err := checking.Compare(cmd, at(d.From, before(d, path)), at(d.To, path), path)
		if err != nil {
			return err
		}
		f.Values[path] = c.Facts
		f.compared = append(f.compared, path)
		f.regions = append(f.regions, c)
	}
	return nil
}

// before returns the path that an array had in the first snapshot.
func before(d *icechunk.Diff, path string) string {
	for _, m := range slices.Backward(d.Moved) {
		if rest, ok := strings.CutPrefix(path+"/", m.To+"/"); ok {
			path = strings.TrimSuffix(m.From+"/"+rest, "/")
		}
	}
	return path
}

// print writes a line for each change.
func (f *diffFacts) print(w *bufio.Writer) error {
	lines := func(what string, paths []string) {
		for _, path := range paths {
			fmt.Fprintf(w, "%-14s  %s\n", what, nameOf(path))
			for _, m := range f.Documents[path] {
				was, is := texts(m.A, m.B)
				fmt.Fprintf(w, "  %s: %s, now %s\n", phrase.Printable(m.Name), was, is)
			}
		}
	}
	lines("new group", f.NewGroups)
	lines("new array", f.NewArrays)
	lines("deleted group", f.DeletedGroups)
	lines("deleted array", f.DeletedArrays)
	for _, m := range f.Moved {
		fmt.Fprintf(w, "%-14s  %s, now %s\n", "moved", nameOf(m[0]), nameOf(m[1]))
	}
	lines("changed group", f.UpdatedGroups)
	lines("changed array", f.UpdatedArrays)
	for _, path := range slices.Sorted(maps.Keys(f.Chunks)) {
		c := f.Chunks[path]
		var ranges []string
		for _, r := range c.Range {
			ranges = append(ranges, fmt.Sprintf("%d:%d", r[0], r[1]))
		}
		fmt.Fprintf(w, "%-14s  %s  %s, with indices in [%s]\n", "changed chunks", nameOf(path), phrase.Plural(int64(c.Count), "chunk"), strings.Join(ranges, ", "))
	}
	for i, c := range f.regions {
		if !c.Values(w) {
			fmt.Fprintf(w, "%-14s  %s  those in both are equal\n", "elements", nameOf(f.compared[i]))
		}
	}
	return nil
}

func nameOf(path string) string {
	if path == "" {
		return "/"
	}
	return phrase.Shorten(phrase.Printable(path), 120)
}

// texts returns two values of a document for a line. If they are long, their common
// beginning is left out: a grid of many edges would else look the same in both.
func texts(a, b json.RawMessage) (was, is string) {
	const most, shared = 60, 12
	text := func(raw json.RawMessage) []rune {
		if raw == nil {
			return []rune("none")
		}
		return []rune(phrase.Printable(phrase.Compact(raw)))
	}
	x, y := text(a), text(b)
	n := 0
	for n < min(len(x), len(y)) && x[n] == y[n] {
		n++
	}
	cut := n - shared
	for cut > 0 && x[cut-1] != ',' { // a cut within a word or a number would show another one
		cut--
	}
	if cut > 0 && max(len(x), len(y)) > most {
		x, y = append([]rune("…"), x[cut:]...), append([]rune("…"), y[cut:]...)
	}
	return phrase.Shorten(string(x), most), phrase.Shorten(string(y), most)
}
