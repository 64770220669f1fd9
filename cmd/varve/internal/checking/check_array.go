// SPDX-License-Identifier: Apache-2.0

package checking

import (
	"bufio"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/check"
	"varve.dev/zarr/cmd/varve/internal/facts"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/output"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/store"
)

// findings is the result of a check of one array, in the form of --json.
type findings struct {
	Path    string      `json:"path"`
	Chunks  int64       `json:"chunks_stored"`
	Inner   int64       `json:"inner_chunks_stored"`
	Bytes   int64       `json:"bytes_stored"`
	Dead    int64       `json:"bytes_dead"`
	Missing int64       `json:"chunks_missing"` // with --complete
	Faults  int64       `json:"faults"`
	Bad     int64       `json:"chunks_damaged"`
	Unread  int64       `json:"chunks_not_checked"` // beyond --limit, or without permission to read
	Found   []faultFact `json:"found"`              // in the order of chunks
	Order   *string     `json:"unordered"`          // how a coordinate is out of order, else null
	Notes   []string    `json:"notes"`              // what prevents xarray from opening the group
	Error   *string     `json:"error,omitempty"`    // why an array of a group cannot be read

	Pending *facts.Pending `json:"pending,omitempty"` // an unfinished change of several arrays

	// Orphans are values that no document describes, such as superseded grids and chunks
	// beyond the extent. They are no damage. They are not counted with --fast and
	// --sample.
	Orphans     int64 `json:"orphans"`
	OrphanBytes int64 `json:"bytes_orphaned"`
	// Orphaned says what they are, with the first keys of each kind.
	Orphaned []orphanFact `json:"orphaned,omitempty"`

	Findings []finding      `json:"findings"`          // everything that changes the status
	Repaired []repairFact   `json:"repaired,omitzero"` // with --repair
	Checked  *checkedCounts `json:"checked,omitempty"`

	// Temporary is set only if NODE is an array. A group lists the files of its members.
	Temporary []facts.TemporaryFile `json:"temporary,omitzero"`

	judged
	sums
	of *check.Array
}

// orphanFact is values that no document describes, in the form of --json.
type orphanFact struct {
	Kind   string   `json:"kind"`
	Keys   []string `json:"keys"` // the first ones, below the array
	Values int64    `json:"values"`
	Bytes  int64    `json:"bytes"`
	Kept   string   `json:"kept,omitempty"` // why varve vacuum does not delete them now
}

// firstKeys returns the first keys of values, or an example.
func firstKeys(i rechunk.VacuumItem) []string {
	if len(i.First) > 0 {
		return i.First
	}
	return []string{i.Keys}
}

// text says what the values are, and what becomes of them.
func (o orphanFact) text() string {
	shown := o.Keys[:min(3, len(o.Keys))]
	what := fmt.Sprintf("%s that the document does not describe (%s, such as %s), %s: ",
		phrase.Plural(o.Values, "value"), o.Kind, strings.Join(shown, ", "), phrase.Bytes(o.Bytes))
	them := "them"
	if o.Values == 1 {
		them = "it"
	}
	if o.Kept != "" {
		return what + "varve vacuum keeps " + them + ": " + o.Kept
	}
	return what + "varve vacuum removes " + them
}

// newFindings describes the result for an array below a location. unproven has the
// reasons why shards were not repaired, by their keys.
func newFindings(location string, r *check.Array, unproven map[string]string) *findings {
	c := &findings{
		Path: pathBelow(location, r.Path), Chunks: r.Chunks, Inner: r.Inner, Bytes: r.Bytes, Dead: r.Dead, Missing: r.Missing, Faults: r.Faults, Bad: r.Damaged, Unread: r.Unread,
		Found: []faultFact{}, Order: output.Present(r.Disorder), Notes: append([]string{}, r.Notes...), Orphans: r.Orphans, OrphanBytes: r.OrphanBytes, of: r,
	}
	for _, i := range r.Orphaned {
		o := orphanFact{i.Kind, firstKeys(i), i.Values, i.Bytes, i.Kept}
		if i.Unexplained {
			o.Kept = "no record says what they are" // a line of its own says what they may be
			if i.Values == 1 {
				o.Kept = "no record says what it is"
			}
		}
		c.Orphaned = append(c.Orphaned, o)
	}
	if r.Err != nil {
		text := failure.OneLine(r.Err)
		if failure.IsCutOff(r.Err) {
			text += "; " + failure.RestoreDocument
		}
		c.Error = output.Present(text)
	}
	if r.Pending != nil || r.PendingErr != nil {
		c.Pending = facts.PendingOf(r.Pending, r.PendingErr)
	}
	for _, f := range r.Found {
		c.Found = append(c.Found, factOf(location, f))
	}
	c.Findings = findingsOf(location, r.Findings(), unproven)
	return c
}

// pathBelow returns the location of a path below another one.
func pathBelow(location, path string) string {
	if path == "" {
		return location
	}
	return node.Clean(location) + "/" + path
}

// faultFact is one fault. If a chunk has very many, its last one stands for those that
// are not listed.
type faultFact struct {
	Key     string    `json:"key"`
	Chunk   []int64   `json:"chunk"`
	Inner   [][]int64 `json:"inner"` // the path to the inner chunk
	Off     int64     `json:"offset"`
	Len     int64     `json:"length"`
	Shared  bool      `json:"shared"`
	Kind    *string   `json:"kind"` // null if bytes are only shared
	Message string    `json:"message"`
}

// contradicted is the kind of a finding about statistics that say what is not so.
const contradicted = "statistics"

// verdict returns an error that sums up the findings, or nil if there are none.
func (c *findings) verdict() error {
	text := faultsText(c.Path, c.Faults, c.Missing, c.Bad, c.Chunks) + unreadText(c.Unread)
	if c.of.Times {
		text += "; the times of the coordinate are out of order"
	}
	if c.of.IsUnfinished() {
		text += "; a change of several arrays is not finished"
	}
	if c.of.Contradiction != "" {
		text += "; statistics say what is not so"
	}
	if len(c.of.Misread) > 0 {
		text += "; other programs read wrong values"
	}
	if c.of.Misplaced != "" {
		text += "; the stored values have other keys than the document names"
	}
	if c.of.RecordsErr != nil {
		text += "; the records of its rechunks are damaged"
	}
	if c.of.Replaced != nil {
		text += "; the document of a rechunk was replaced"
	}
	if c.of.Err != nil {
		text += "; the values of the coordinate could not be read"
	}
	text += c.judged.text()
	if len(c.broken) > 0 || c.of.Err != nil || c.of.Times || c.Faults > 0 || c.Unread > 0 || c.of.IsUnfinished() || c.of.Replaced != nil || c.of.RecordsErr != nil || len(c.of.Misread) > 0 || c.of.Misplaced != "" || c.of.Contradiction != "" {
		return failure.Verdict(text)
	}
	return nil
}

// faultsText describes the number of faults. Of these, missing are chunks that are not
// stored; the others are in bad of the stored chunks.
func faultsText(location string, faults, missing, bad, chunks int64) string {
	damage := fmt.Sprintf("in %s of %s", phrase.Count(bad), phrase.Plural(chunks, "stored chunk"))
	text := fmt.Sprintf("check %s: %s ", location, phrase.Plural(faults, "fault"))
	switch {
	case missing == 0:
		return text + damage
	case missing == faults:
		return text + fmt.Sprintf("(%s missing)", phrase.Plural(missing, "chunk"))
	}
	return text + fmt.Sprintf("(%s %s, %s missing)", phrase.Count(faults-missing), damage, phrase.Plural(missing, "chunk"))
}

// unreadText adds the number of chunks that could not be checked to a text.
func unreadText(unread int64) string {
	if unread == 0 {
		return ""
	}
	return fmt.Sprintf("; %s could not be checked", phrase.Plural(unread, "chunk"))
}

func factOf(location string, f zarr.ShardFault) faultFact {
	fact := faultFact{Key: f.Key, Chunk: f.Shard, Inner: f.Inner, Off: f.Off, Len: f.Len, Shared: f.Shared, Message: failure.OneLineOf(location, f)}
	if !f.Shared {
		fact.Kind = output.Present(string(zarr.KindOf(f.Err)))
	}
	// Programs read a list, never null.
	if fact.Inner == nil {
		fact.Inner = [][]int64{}
	}
	return fact
}

func (c *findings) print(cmd *cobra.Command) error {
	if session.WantsJSON(cmd) {
		return session.PrintJSON(cmd, c)
	}
	return session.Print(cmd, func(w *bufio.Writer) error {
		writeRepaired(w, c.Repaired)
		return c.write(w)
	})
}

// write writes a line for the array, and then one for every fault. Keys are the same in
// many arrays, so a line without the name would say nothing.
func (c *findings) write(w *bufio.Writer) error {
	if c.Error != nil {
		fmt.Fprintf(w, "%s  cannot be checked: %s\n", phrase.Printable(c.Path), phrase.Printable(*c.Error))
		return c.writeFaults(w)
	}
	what := phrase.Plural(c.Chunks, "stored chunk")
	if c.of.Sharded {
		what = fmt.Sprintf("%s with %s", phrase.Plural(c.Chunks, "stored shard"), phrase.Plural(c.Inner, "inner chunk"))
	}
	fmt.Fprintf(w, "%s  %s, %s", phrase.Printable(c.Path), what, phrase.Bytes(c.Bytes))
	if c.Dead > 0 {
		fmt.Fprintf(w, ", of which %s are unused (varve compact --shards)", phrase.Bytes(c.Dead))
	}
	if c.Missing > 0 {
		fmt.Fprintf(w, "; %s missing", phrase.Plural(c.Missing, "chunk"))
	}
	fmt.Fprintf(w, ": %s%s\n", phrase.Plural(c.Faults, "fault"), unreadText(c.Unread))
	err := c.writeFaults(w)
	if c.Order != nil {
		_, err = fmt.Fprintf(w, "%s  %s\n", phrase.Printable(c.Path), phrase.Printable(*c.Order))
	}
	for _, o := range c.Orphaned {
		_, err = fmt.Fprintf(w, "%s  %s\n", phrase.Printable(c.Path), phrase.Printable(o.text()))
	}
	for _, text := range c.Notes {
		_, err = fmt.Fprintf(w, "%s  note: %s\n", phrase.Printable(c.Path), phrase.Printable(text))
	}
	for _, text := range c.of.Misread {
		_, err = fmt.Fprintf(w, "%s  %s\n  repair: varve check --repair\n", phrase.Printable(c.Path), phrase.Printable(text))
	}
	for _, f := range c.Findings {
		if f.Kind == contradicted {
			_, err = fmt.Fprintf(w, "%s  %s\n  repair: %s\n", phrase.Printable(f.Path), phrase.Printable(f.Message), phrase.Printable(f.Repair))
		}
	}
	if c.of.Misplaced != "" {
		_, err = fmt.Fprintf(w, "%s  %s\n", phrase.Printable(c.Path), phrase.Printable(c.of.Misplaced))
	}
	if c.of.RecordsErr != nil {
		_, err = fmt.Fprintf(w, "%s  %s\n", phrase.Printable(c.Path), phrase.Printable(failure.ForNode(c.Path, failure.OneLine(c.of.RecordsErr))))
	}
	if c.of.Replaced != nil {
		_, err = fmt.Fprintf(w, "%s  %s\n  repair: %s\n", phrase.Printable(c.Path), phrase.Printable(c.of.Replaced.Message), phrase.Printable(c.of.Replaced.Repair))
	}
	if c.Pending != nil {
		_, err = fmt.Fprintf(w, "%s  %s\n", phrase.Printable(c.Path), phrase.Printable(c.Pending.Text()))
	}
	c.judged.write(w)
	facts.WriteTemporary(w, c.Temporary)
	c.sums.write(w, c.Path)
	return err
}

// writeFaults writes one line for every fault, below that of the array.
func (c *findings) writeFaults(w *bufio.Writer) (err error) {
	for _, f := range c.Found {
		_, err = fmt.Fprintf(w, "  %s\n", phrase.Printable(f.Message))
	}
	return err
}

// repair does what cannot lose data, at a node and at all nodes below it: it finishes
// changes whose writers have crashed, writes documents again that other programs misread,
// updates stale consolidated metadata, and on request restores damaged indexes of shards.
func (f *checkFlags) repair(cmd *cobra.Command, location string, shards bool) error {
	at, err := zarr.Locate(cmd.Context(), location, store.ReadWrite)
	if err != nil {
		// A store that can only be read is checked as it is. Each repair says so.
		if at, err = zarr.Locate(cmd.Context(), location, store.ReadOnly); err != nil {
			return err
		}
	}
	defer node.Close(at)
	done, err := check.Repair(cmd.Context(), at, &check.RepairOptions{Open: session.Reading(cmd), Shards: shards})
	f.unproven = map[string]string{}
	f.repaired = []repairFact{} // programs read a list, never null
	for _, r := range done {
		// What cannot be repaired stays a finding of the check.
		if r.Err != nil {
			session.Note(cmd, pathBelow(location, r.Path), failure.OneLine(r.Err))
			if r.Key != "" {
				f.unproven[r.Key] = failure.OneLine(r.Err)
			}
			continue
		}
		f.repaired = append(f.repaired, repairFact{Path: pathBelow(location, r.Path), Key: output.Present(r.Key), Chunk: r.Chunk, Message: r.Message})
	}
	return err
}

// repairFact is one thing that was repaired, in the form of --json.
type repairFact struct {
	Path    string  `json:"path"`
	Key     *string `json:"key"`   // of a shard; null for all else
	Chunk   []int64 `json:"chunk"` // null for all else
	Message string  `json:"message"`
}

// mostRepaired bounds the lines about repairs. --json has all of them.
const mostRepaired = 100

// writeRepaired writes one line for each repair, and one that counts them.
func writeRepaired(w *bufio.Writer, done []repairFact) {
	for i, r := range done {
		if i == mostRepaired {
			fmt.Fprintf(w, "… and %s more\n", phrase.Count(int64(len(done)-i)))
			break
		}
		fmt.Fprintf(w, "%s  repaired: %s\n", phrase.Printable(r.Path), phrase.Printable(r.Message))
	}
	if done != nil {
		fmt.Fprintf(w, "%s\n", phrase.Plural(int64(len(done)), "repair"))
	}
}
