// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/facts"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/growth"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/output"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/progress"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/regrid"
)

// mostFaults bounds the faults that are listed one by one.
const mostFaults = 1000

func newCheckCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "check NODE",
		Short: "Look for damage in the stored chunks of an array, or of all arrays below a group; status 1 if there is any",
		Long: `Look for damage in the stored chunks of an array, or of all arrays below a group; status 1 if there is any.

Every stored chunk is read and decoded. In a shard, every inner chunk must lie within the shard, must not share its
bytes with another one, and must decode. Bytes that belong to no inner chunk are counted, but they are no damage;
varve compact --shards frees them. Without a checksum, wrong values may go unnoticed.

A chunk that is not stored is no fault, because chunks that hold only the fill value are usually not stored. If all
chunks should be stored, --complete lists the missing ones.

For a group, all arrays stored below it are checked. Consolidated metadata that another program has left stale is a
finding, too; varve consolidate updates it.

A decided but unfinished change of several arrays is a finding. Its writer crashed or is still running, and some arrays
may be longer than others.

--repair first does what cannot lose data. It finishes what a crashed writer left: such a change, and cut chunks that
were not yet moved to their keys, which other programs cannot decode until then. It updates stale consolidated metadata.
Nothing is changed where a writer may still be running or the store is read-only. With --json every finding has a member
"repair" that says what else would help.

Coordinates (arrays with one axis, named like that axis) are read in full. Times that run backwards or repeat, as after
a month was appended twice, are a finding. Other coordinates whose numbers neither rise nor fall throughout get a line,
but do not change the status. Elements at the end that still have the fill value are ignored; between written times they
are a finding.

A chunk that cannot be read, for lack of permission or because of a disk or server error, is a finding; the other
chunks are still checked. After more than 100 such chunks in a row the check ends.

--digest prints a digest of the values of each array, and one of all. It depends on nothing else: a copy has the same
one, also after varve rechunk, compact or convert. It finds accidents, no forgeries. --write-manifest writes the
SHA-256 of every stored value, which --against and sha256sum -c compare later. Keep the file elsewhere.

If another program has put back the document of before a varve compact, regularize or rechunk, that is a finding, with
the way back. varve vacuum deletes nothing then.

Temporary files are listed, but they are no damage. They belong to a write in progress or to a crashed writer. The next
command that writes here removes those of crashed writers.`,
		Example: `  varve check era5.zarr
  varve check era5.zarr/t2m --fast --json`,
		Args:              arguments("NODE"),
		ValidArgsFunction: node.Complete,
	}
	f := &checkFlags{}
	c.Flags().BoolVar(&f.how.IndexOnly, "fast", false, "check only sizes and the indexes of shards, and decode nothing")
	c.Flags().Var((*percentage)(&f.how.Sample), "sample", "check only a random `PART` of the stored chunks, such as 1%")
	c.Flags().BoolVar(&f.digest, "digest", false, "also print digests of the values, which do not depend on chunks and codecs")
	c.Flags().BoolVar(&f.dandi, "dandi", false, "also print the digest that the DANDI archive has for a Zarr asset")
	c.Flags().StringVar(&f.list, "write-manifest", "", "if there is no damage, write the SHA-256 of every stored value to `FILE`, as sha256sum -c reads it")
	c.Flags().StringVar(&f.against, "against", "", "decode nothing, but compare all stored values with the checksums in `FILE`")
	mend := c.Flags().Bool("repair", false, "first do what cannot lose data: finish what crashed writers left, update stale consolidated metadata")
	c.Flags().BoolVar(&f.how.Complete, "complete", false, "treat chunks that are not stored as faults")
	dry := c.Flags().Bool("dry-run", false, "change nothing; only --repair changes anything")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if f.against != "" {
			return checkAgainst(cmd, args[0], f.against)
		}
		if *mend && !*dry {
			if err := repair(cmd, args[0]); err != nil {
				return err
			}
		}
		f.how.KeepGoing = true
		return check(cmd, args[0], f)
	}
	for _, name := range []string{"write-manifest", "digest", "dandi", "repair", "complete", "sample", "fast"} {
		c.MarkFlagsMutuallyExclusive("against", name)
	}
	return c
}

// checkFlags are the flags of varve check.
type checkFlags struct {
	how           zarr.CheckOptions
	digest, dandi bool
	list, against string
}

// percentage is a flag for a part of a whole, such as 1% or 0.01.
type percentage float64

func (p *percentage) String() string { return strconv.FormatFloat(100*float64(*p), 'g', -1, 64) + "%" }
func (p *percentage) Type() string   { return "percentage" }

// Set reads a percentage.
func (p *percentage) Set(text string) error {
	number, percent := strings.CutSuffix(text, "%")
	part, err := strconv.ParseFloat(number, 64)
	if percent {
		part /= 100
	}
	if err != nil || !(part > 0 && part <= 1) {
		return fmt.Errorf("%q is not a percentage above 0%% and up to 100%%", text)
	}
	*p = percentage(part)
	return nil
}

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
	Found   []faultFact `json:"found"`           // in the order of chunks
	Order   *string     `json:"unordered"`       // how a coordinate is out of order, else null
	Notes   []string    `json:"notes"`           // what prevents xarray from opening the group
	Error   *string     `json:"error,omitempty"` // why an array of a group cannot be read

	Pending *facts.Pending `json:"pending,omitempty"` // an unfinished change of several arrays

	// Orphans are values that no document describes, such as superseded grids and chunks
	// beyond the extent. They are no damage. They are not counted with --fast and
	// --sample.
	Orphans     int64 `json:"orphans"`
	OrphanBytes int64 `json:"bytes_orphaned"`

	Findings []finding      `json:"findings"` // everything that changes the status
	Checked  *checkedCounts `json:"checked,omitempty"`

	// Temporary is set only if NODE is an array. A group lists the files of its members.
	Temporary []temporaryFact `json:"temporary,omitzero"`

	sums
	replaced []finding // documents of re-griddings that others have replaced
	sharded  bool
	times    bool // the coordinate that is out of order holds times
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

// inspected returns the findings about the re-griddings of an array.
func inspected(cmd *cobra.Command, location string, a *zarr.Array) ([]finding, error) {
	i, err := regrid.Inspect(cmd.Context(), a)
	if err != nil || i.Replaced == nil {
		return nil, err
	}
	return []finding{{Kind: "document-replaced", Path: location, Message: i.Replaced.Message(), Repair: i.Replaced.Repair()}}, nil
}

func check(cmd *cobra.Command, location string, f *checkFlags) error {
	n, err := node.Open(cmd, location)
	if err != nil {
		return err
	}
	defer n.Close()
	a, ok := n.(*zarr.Array)
	if !ok {
		return checkGroup(cmd, location, n.(*zarr.Group), f)
	}
	c, err := checkArray(cmd, location, a, f.how)
	if err != nil {
		return err
	}
	if c.Temporary, err = temporaryFiles(cmd, n); err != nil {
		return err
	}
	verdict := c.verdict()
	c.Findings = c.list()
	c.Checked = &checkedCounts{1, c.Chunks, c.Inner, c.Bytes}
	if c.sums, err = f.sums(cmd, n, verdict == nil); err != nil {
		return err
	}
	if err := c.print(cmd); err != nil {
		return err
	}
	return verdict
}

// verdict returns an error that sums up the findings, or nil if there are none.
func (c *findings) verdict() error {
	text := faultsText(c.Path, c.Faults, c.Missing, c.Bad, c.Chunks)
	if c.times {
		text += "; the times of the coordinate are out of order"
	}
	if c.Pending.IsFinding() {
		text += "; a change of several arrays is not finished"
	}
	if len(c.replaced) > 0 {
		text += "; the document of a re-gridding was replaced"
	}
	if c.times || c.Faults > 0 || c.Pending.IsFinding() || len(c.replaced) > 0 {
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

// checkArray looks for damage in one array.
func checkArray(cmd *cobra.Command, location string, a *zarr.Array, how zarr.CheckOptions) (*findings, error) {
	chunks, _ := a.Grid().NumChunks()
	if how.Sample > 0 {
		chunks = int64(how.Sample * float64(chunks))
	}
	p := progress.NewCount(cmd, "chunks", chunks)
	c := &findings{Path: location, Found: []faultFact{}, Notes: []string{}, sharded: a.Inner() != nil}
	c.Pending = facts.PendingAt(cmd.Context(), a)
	if why := facts.Unnamed(a.Metadata()); why != "" && why != facts.NoNames {
		c.Notes = append(c.Notes, why+": xarray does not open such a group")
	}
	var err error
	if c.replaced, err = inspected(cmd, location, a); err != nil {
		return nil, err
	}
	if !how.IndexOnly && how.Sample == 0 { // a listing of all chunks would undo what these save
		if err := c.countOrphans(cmd, a); err != nil {
			return nil, err
		}
	}
	how.Progress = func(_ []int64, found *codec.Check) {
		p.Add(1)
		c.add(found)
	}
	defer p.End()
	for f, err := range a.CheckShards(cmd.Context(), &how) {
		if err != nil {
			return nil, err
		}
		// add counts only the faults of stored chunks.
		if errors.Is(f.Err, fs.ErrNotExist) {
			c.Missing++
			c.Faults++
		}
		// A damaged array may have millions of faults. All are counted.
		if len(c.Found) < mostFaults {
			c.Found = append(c.Found, factOf(f))
		}
	}
	// Reading a damaged coordinate would only report the damage again.
	if c.Faults == 0 && !how.IndexOnly {
		var order string
		order, c.times = growth.Unordered(cmd.Context(), a)
		c.Order = output.Present(order)
	}
	// Faults arrive in the order of reading. Sorted, two checks print the same.
	slices.SortStableFunc(c.Found, func(x, y faultFact) int { return slices.Compare(x.Chunk, y.Chunk) })
	return c, nil
}

// countOrphans counts the values of an array that its document does not describe.
func (c *findings) countOrphans(cmd *cobra.Command, a *zarr.Array) error {
	r, err := regrid.Vacuum(cmd.Context(), a, &regrid.VacuumOptions{DryRun: true})
	if err != nil {
		return cmd.Context().Err() // a store that cannot be listed has no answer
	}
	for _, i := range r.Items {
		c.Orphans += i.Values
		c.OrphanBytes += i.Bytes
	}
	return nil
}

// add adds the result of one chunk.
func (c *findings) add(found *codec.Check) {
	c.Chunks++
	c.Inner += found.Inner
	c.Bytes += found.Bytes
	c.Dead += found.Dead
	if n := int64(len(found.Faults)) + found.More; n > 0 {
		c.Faults += n
		c.Bad++
	}
}

func factOf(f zarr.ShardFault) faultFact {
	fact := faultFact{Key: f.Key, Chunk: f.Shard, Inner: f.Inner, Off: f.Off, Len: f.Len, Shared: f.Shared, Message: failure.OneLine(f)}
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
	return session.Print(cmd, c.write)
}

// write writes one line for every fault, and one for the array.
func (c *findings) write(w *bufio.Writer) error {
	for _, f := range c.Found {
		fmt.Fprintln(w, phrase.Printable(f.Message))
	}
	if c.Error != nil {
		_, err := fmt.Fprintf(w, "%s  cannot be checked: %s\n", phrase.Printable(c.Path), phrase.Printable(*c.Error))
		return err
	}
	what := phrase.Plural(c.Chunks, "stored chunk")
	if c.sharded {
		what = fmt.Sprintf("%s with %s", phrase.Plural(c.Chunks, "stored shard"), phrase.Plural(c.Inner, "inner chunk"))
	}
	fmt.Fprintf(w, "%s  %s, %s", phrase.Printable(c.Path), what, phrase.Bytes(c.Bytes))
	if c.Dead > 0 {
		fmt.Fprintf(w, ", of which %s are unused (varve compact --shards)", phrase.Bytes(c.Dead))
	}
	if c.Missing > 0 {
		fmt.Fprintf(w, "; %s missing", phrase.Plural(c.Missing, "chunk"))
	}
	_, err := fmt.Fprintf(w, ": %s\n", phrase.Plural(c.Faults, "fault"))
	if c.Order != nil {
		_, err = fmt.Fprintf(w, "%s  %s\n", phrase.Printable(c.Path), phrase.Printable(*c.Order))
	}
	if c.Orphans > 0 {
		_, err = fmt.Fprintf(w, "%s  %s that the document does not describe, %s: varve vacuum removes those whose grace is over\n",
			phrase.Printable(c.Path), phrase.Plural(c.Orphans, "value"), phrase.Bytes(c.OrphanBytes))
	}
	for _, text := range c.Notes {
		_, err = fmt.Fprintf(w, "%s  note: %s\n", phrase.Printable(c.Path), phrase.Printable(text))
	}
	for _, f := range c.replaced {
		_, err = fmt.Fprintf(w, "%s  %s\n  repair: %s\n", phrase.Printable(f.Path), phrase.Printable(f.Message), phrase.Printable(f.Repair))
	}
	if c.Pending != nil {
		_, err = fmt.Fprintf(w, "%s  %s\n", phrase.Printable(c.Path), phrase.Printable(c.Pending.Text()))
	}
	writeTemporary(w, c.Temporary)
	c.sums.write(w, c.Path)
	return err
}
