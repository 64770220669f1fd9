// SPDX-License-Identifier: Apache-2.0

package checking

import (
	"bufio"
	"fmt"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/check"
	"varve.dev/zarr/cmd/varve/internal/consolidated"
	"varve.dev/zarr/cmd/varve/internal/facts"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/internal/consolidation"
)

// groupFindings is the result of a check of all arrays below a group, in the form of
// --json. The numbers are sums over all arrays.
type groupFindings struct {
	Path      string      `json:"path"`
	Arrays    []*findings `json:"arrays"` // in the order of their paths
	Chunks    int64       `json:"chunks_stored"`
	Inner     int64       `json:"inner_chunks_stored"`
	Bytes     int64       `json:"bytes_stored"`
	Dead      int64       `json:"bytes_dead"`
	Missing   int64       `json:"chunks_missing"`
	Faults    int64       `json:"faults"`
	Bad       int64       `json:"chunks_damaged"`
	Unread    int64       `json:"chunks_not_checked"` // beyond --limit, or without permission to read
	Failed    int64       `json:"arrays_not_checked"`
	Differ    []string    `json:"dimensions"`            // dimensions whose arrays differ in length
	Pending   int64       `json:"arrays_pending"`        // arrays in an unfinished change of several
	Times     int64       `json:"coordinates_unordered"` // coordinates with times out of order
	Stale     []staleFact `json:"stale"`                 // groups with stale consolidated metadata
	Changed   int64       `json:"documents_replaced"`    // arrays whose rechunk was undone
	Misread   int64       `json:"arrays_misread"`        // arrays of which other programs read wrong values
	Misplaced int64       `json:"arrays_elsewhere"`      // arrays whose stored values have other keys than the document names

	Findings []finding      `json:"findings"`          // everything that changes the status
	Repaired []repairFact   `json:"repaired,omitzero"` // with --repair
	Checked  *checkedCounts `json:"checked"`

	Temporary []facts.TemporaryFile `json:"temporary"`
	Remnants  []remnantFact         `json:"remnants"` // folders with chunks or nodes that no document describes

	records int64 // arrays whose records of rechunks are damaged
	wrong   int64 // arrays whose statistics say what is not so

	judged
	sums
}

// staleFact is a group with stale consolidated metadata.
type staleFact struct {
	Path string `json:"path"`
	*consolidation.Drift
}

// remnantFact is a folder with chunks or nodes, and without a document.
type remnantFact struct {
	Path string `json:"path"`
	Key  string `json:"key"` // one of its values
}

// newGroupFindings describes the result for a group at a location. unproven has the
// reasons why shards were not repaired, by their keys.
func newGroupFindings(location string, r *check.Report, unproven map[string]string) *groupFindings {
	c := r.Checked
	g := &groupFindings{
		Path: location, Arrays: []*findings{}, Chunks: c.Chunks, Inner: c.Inner, Bytes: c.Bytes, Dead: c.Dead, Missing: c.Missing, Faults: c.Faults,
		Bad: c.Damaged, Unread: c.Unread, Failed: c.Unchecked, Differ: []string{}, Stale: []staleFact{}, Findings: findingsOf(location, r.Findings, unproven), Checked: newCheckedCounts(c),
		Temporary: facts.TemporaryFiles(r.Temporary), Remnants: []remnantFact{},
	}
	for _, o := range r.Remnants {
		g.Remnants = append(g.Remnants, remnantFact{pathBelow(location, o.Path), o.Key})
	}
	for _, a := range r.Arrays {
		g.Arrays = append(g.Arrays, newFindings(location, a, unproven))
		g.Pending += oneIf(a.IsUnfinished())
		g.Times += oneIf(a.Times)
		g.Changed += oneIf(a.Replaced != nil)
		g.records += oneIf(a.RecordsErr != nil)
		g.wrong += oneIf(a.Contradiction != "")
		g.Misread += oneIf(len(a.Misread) > 0)
		g.Misplaced += oneIf(a.Misplaced != "")
	}
	for _, f := range r.Findings {
		if f.Kind == differ {
			g.Differ = append(g.Differ, f.String())
		}
	}
	for _, s := range r.Stale {
		g.Stale = append(g.Stale, staleFact{pathBelow(location, s.Path), &consolidation.Drift{
			Consolidated: true, Nodes: s.Nodes, New: s.New, Changed: s.Changed, Gone: s.Gone,
		}})
	}
	return g
}

// differ is the kind of a finding about arrays of a group that differ in length.
const differ zarr.Kind = "dimensions"

// oneIf returns 1 for true and 0 for false.
func oneIf(is bool) int64 {
	if is {
		return 1
	}
	return 0
}

// verdict returns an error that sums up the findings, or nil if there are none.
func (g *groupFindings) verdict() error {
	if g.Faults == 0 && g.Unread == 0 && g.Failed == 0 && len(g.Differ) == 0 && len(g.Stale) == 0 && g.Times == 0 && g.Pending == 0 && g.Changed == 0 && g.records == 0 && g.Misread == 0 && g.Misplaced == 0 && g.wrong == 0 && len(g.broken) == 0 {
		return nil
	}
	text := faultsText(g.Path, g.Faults, g.Missing, g.Bad, g.Chunks) + unreadText(g.Unread)
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
		text += fmt.Sprintf("; the document of a rechunk was replaced in %s", phrase.Plural(g.Changed, "array"))
	}
	if g.records > 0 {
		text += fmt.Sprintf("; the records of rechunks of %s are damaged", phrase.Plural(g.records, "array"))
	}
	if g.wrong > 0 {
		text += fmt.Sprintf("; the statistics of %s say what is not so", phrase.Plural(g.wrong, "array"))
	}
	if g.Misread > 0 {
		text += fmt.Sprintf("; other programs read wrong values of %s", phrase.Plural(g.Misread, "array"))
	}
	if g.Misplaced > 0 {
		text += fmt.Sprintf("; the stored values of %s have other keys than the document names", phrase.Plural(g.Misplaced, "array"))
	}
	if len(g.Stale) > 0 {
		text += "; consolidated metadata is older than the nodes"
	}
	return failure.Verdict(text + g.judged.text())
}

func (g *groupFindings) print(cmd *cobra.Command) error {
	if session.WantsJSON(cmd) {
		return session.PrintJSON(cmd, g)
	}
	return session.Print(cmd, func(w *bufio.Writer) error {
		writeRepaired(w, g.Repaired)
		for _, c := range g.Arrays {
			if err := c.write(w); err != nil {
				return err
			}
		}
		_, err := fmt.Fprintf(w, "%s  %s, %s, %s: %s\n", phrase.Printable(g.Path), phrase.Plural(int64(len(g.Arrays)), "array"),
			phrase.Plural(g.Chunks, "stored chunk"), phrase.Bytes(g.Bytes), phrase.Plural(g.Faults, "fault")+unreadText(g.Unread))
		for _, text := range g.Differ {
			fmt.Fprintf(w, "  %s\n", phrase.Printable(text))
		}
		for _, f := range g.Stale {
			fmt.Fprintf(w, "%s  %s\n", phrase.Printable(f.Path), consolidated.StaleText(f.Drift))
		}
		for _, o := range g.Remnants {
			fmt.Fprintf(w, "%s  holds values such as %s, but no document, so no program reads them: restore its document from a copy, or repeat the command that was stopped, such as varve copy, which stores documents last\n",
				phrase.Printable(o.Path), phrase.Printable(o.Key))
		}
		g.judged.write(w)
		facts.WriteTemporary(w, g.Temporary)
		g.sums.write(w, g.Path)
		return err
	})
}
