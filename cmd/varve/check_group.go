// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"errors"
	"fmt"
	"path"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/consolidated"
	"varve.dev/zarr/cmd/varve/internal/dimensions"
	"varve.dev/zarr/cmd/varve/internal/facts"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/output"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/session"
)

// groupFindings is the result of a check of all arrays below a group, in the form of
// --json. The numbers are sums over all arrays.
type groupFindings struct {
	Path    string      `json:"path"`
	Arrays  []*findings `json:"arrays"` // in the order of their paths
	Chunks  int64       `json:"chunks_stored"`
	Inner   int64       `json:"inner_chunks_stored"`
	Bytes   int64       `json:"bytes_stored"`
	Dead    int64       `json:"bytes_dead"`
	Missing int64       `json:"chunks_missing"`
	Faults  int64       `json:"faults"`
	Bad     int64       `json:"chunks_damaged"`
	Failed  int64       `json:"arrays_not_checked"`
	Differ  []string    `json:"dimensions"`            // dimensions whose arrays differ in length
	Pending int64       `json:"arrays_pending"`        // arrays in an unfinished change of several
	Times   int64       `json:"coordinates_unordered"` // coordinates with times out of order
	Stale   []staleFact `json:"stale"`                 // groups with stale consolidated metadata
	Changed int64       `json:"documents_replaced"`    // arrays whose re-gridding was undone

	Findings []finding      `json:"findings"` // everything that changes the status
	Checked  *checkedCounts `json:"checked"`

	Temporary []temporaryFact `json:"temporary"`

	sums
}

// staleFact is a group with stale consolidated metadata.
type staleFact struct {
	Path string `json:"path"`
	*consolidated.Drift
}

// checkGroup looks for damage in all arrays below a group, including those that stale
// consolidated metadata does not list. If an array cannot be checked, it goes on with
// the others and returns a verdict in the end.
func checkGroup(cmd *cobra.Command, location string, g *zarr.Group, f *checkFlags) error {
	all := &groupFindings{Path: location, Arrays: []*findings{}, Differ: []string{}, Stale: []staleFact{}}
	names := naming{}
	// Compare the consolidated metadata first: if it is stale, the members come from the
	// store.
	stale, bad := all.addGroup(cmd, g, "")
	for m, err := range consolidated.MembersThere(cmd.Context(), g, stale, true) {
		if err != nil {
			bad = errors.Join(bad, err)
			continue
		}
		if errors.Is(m.Err, consolidated.ErrGone) {
			continue // reported as stale consolidated metadata
		}
		if below, ok := m.Node.(*zarr.Group); ok {
			_, err := all.addGroup(cmd, consolidated.AsStored(below, stale), m.Path)
			bad = errors.Join(bad, err)
		}
		c, err := checkMember(cmd, location, m, f.how)
		if err != nil {
			return err
		}
		if c != nil {
			c.Findings = c.list()
			all.add(c)
		}
		if a, ok := m.Node.(*zarr.Array); ok && c != nil {
			names.add(m.Path, a, c)
		}
	}
	// Only now are all arrays of each group known.
	names.note()
	if files, err := temporaryFiles(cmd, g); err != nil {
		bad = errors.Join(bad, err)
	} else {
		all.Temporary = files
	}
	verdict := all.verdict()
	all.Findings = all.list()
	all.Checked = &checkedCounts{int64(len(all.Arrays)), all.Chunks, all.Inner, all.Bytes}
	var err error
	if all.sums, err = f.sums(cmd, g, verdict == nil && bad == nil); err != nil {
		return err
	}
	if err := all.print(cmd); err != nil || bad != nil {
		return errors.Join(err, bad)
	}
	return verdict
}

// verdict returns an error that sums up the findings, or nil if there are none.
func (g *groupFindings) verdict() error {
	if g.Faults == 0 && g.Failed == 0 && len(g.Differ) == 0 && len(g.Stale) == 0 && g.Times == 0 && g.Pending == 0 && g.Changed == 0 {
		return nil
	}
	text := faultsText(g.Path, g.Faults, g.Missing, g.Bad, g.Chunks)
	if g.Failed > 0 {
		text += fmt.Sprintf("; %s could not be checked", phrase.Plural(g.Failed, "array"))
	}
	if n := int64(len(g.Differ)); n > 0 {
		text += fmt.Sprintf("; arrays differ in length along %s", phrase.Plural(n, "dimension"))
	}
	if g.Times > 0 {
		text += fmt.Sprintf("; the times of %s are out of order", phrase.Plural(g.Times, "coordinate"))
	}
	if g.Pending > 0 {
		text += fmt.Sprintf("; a change of %s is not finished", phrase.Plural(g.Pending, "array"))
	}
	if g.Changed > 0 {
		text += fmt.Sprintf("; the document of a re-gridding was replaced in %s", phrase.Plural(g.Changed, "array"))
	}
	if len(g.Stale) > 0 {
		text += "; consolidated metadata is older than the nodes"
	}
	return failure.Verdict(text)
}

// addGroup adds the findings of a group itself: stale consolidated metadata, and
// dimensions along which its arrays differ. path is relative to the group that is
// checked. It returns how the consolidated metadata differs, nil if it does not.
func (g *groupFindings) addGroup(cmd *cobra.Command, at *zarr.Group, path string) (stale *consolidated.Drift, err error) {
	prefix, location := "", g.Path
	if path != "" {
		prefix, location = path+": ", node.Clean(g.Path)+"/"+path
	}
	if path == "" { // its document is already read, and may be long
		stale, err = consolidated.StalenessOf(cmd.Context(), at, at.Metadata(), true, nil)
	} else {
		stale, err = consolidated.Staleness(cmd.Context(), at, true)
	}
	if stale != nil {
		g.Stale = append(g.Stale, staleFact{location, stale})
	}
	for _, text := range dimensions.Disagreements(cmd, consolidated.AsStored(at, stale)) {
		g.Differ = append(g.Differ, prefix+text)
	}
	return stale, err
}

// checkMember looks for damage in a member of a group. The findings are nil for a group
// that can be read. The error is not nil only if the command was stopped.
func checkMember(cmd *cobra.Command, location string, m zarr.Member, how zarr.CheckOptions) (*findings, error) {
	at := node.Clean(location) + "/" + m.Path
	err := m.Err
	if a, ok := m.Node.(*zarr.Array); ok && err == nil {
		var c *findings
		if c, err = checkArray(cmd, at, a, how); err == nil {
			return c, nil
		}
	}
	if err == nil {
		return nil, nil
	}
	return &findings{Path: at, Found: []faultFact{}, Notes: []string{}, Error: output.Present(failure.OneLine(err))}, cmd.Context().Err()
}

// add adds the findings of one array.
func (g *groupFindings) add(c *findings) {
	g.Arrays = append(g.Arrays, c)
	g.Chunks += c.Chunks
	g.Inner += c.Inner
	g.Bytes += c.Bytes
	g.Dead += c.Dead
	g.Missing += c.Missing
	g.Faults += c.Faults
	g.Bad += c.Bad
	if c.Error != nil {
		g.Failed++
	}
	if c.Pending.IsFinding() {
		g.Pending++
	}
	if c.times {
		g.Times++
	}
	if len(c.replaced) > 0 {
		g.Changed++
	}
}

func (g *groupFindings) print(cmd *cobra.Command) error {
	if session.WantsJSON(cmd) {
		return session.PrintJSON(cmd, g)
	}
	return session.Print(cmd, func(w *bufio.Writer) error {
		for _, c := range g.Arrays {
			if err := c.write(w); err != nil {
				return err
			}
		}
		for _, text := range g.Differ {
			fmt.Fprintln(w, phrase.Printable(text))
		}
		for _, f := range g.Stale {
			fmt.Fprintf(w, "%s  %s\n", phrase.Printable(f.Path), f.StaleText())
		}
		writeTemporary(w, g.Temporary)
		_, err := fmt.Fprintf(w, "%s  %s, %s, %s: %s\n", phrase.Printable(g.Path), phrase.Plural(int64(len(g.Arrays)), "array"),
			phrase.Plural(g.Chunks, "stored chunk"), phrase.Bytes(g.Bytes), phrase.Plural(g.Faults, "fault"))
		g.sums.write(w, g.Path)
		return err
	})
}

// naming collects, by group, which arrays name their dimensions.
type naming map[string]*neighbors

// add adds an array at a path, with its findings.
func (n naming) add(at string, a *zarr.Array, c *findings) {
	group := path.Dir(at)
	if n[group] == nil {
		n[group] = new(neighbors)
	}
	switch facts.Unnamed(a.Metadata()) {
	case "":
		n[group].named = n[group].named || a.Rank() > 0
	case facts.NoNames:
		n[group].unnamed = append(n[group].unnamed, c)
	}
}

// note adds a note to the findings of arrays without dimension names if other arrays of
// their group have some.
func (n naming) note() {
	for _, g := range n {
		for _, c := range g.unnamed {
			if g.named {
				c.Notes = append(c.Notes, facts.NoNames+", and other arrays of its group have some: xarray does not open such a group")
			}
		}
	}
}

// neighbors describes the arrays directly below one group.
type neighbors struct {
	named   bool        // some array names its dimensions
	unnamed []*findings // of the arrays that do not
}
