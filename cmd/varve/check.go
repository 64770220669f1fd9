// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/check"
	"varve.dev/zarr/check/checksums"
	"varve.dev/zarr/cmd/varve/internal/dryrun"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/progress"
	"varve.dev/zarr/job"
)

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

--fast reads no chunks, only their sizes and the indexes of shards. It finds wrong sizes of chunks whose codecs encode a
shape to one size (raw elements, also with crc32c), empty chunks and ones too long for any codec, shards that were cut
off, and inner chunks with such sizes or out of place. It does not find changed bytes, nor compressed chunks that were
cut off.

For a group, all arrays stored below it are checked. Consolidated metadata that another program has left stale is a
finding, too; varve consolidate updates it.

A decided but unfinished change of several arrays is a finding. Its writer crashed or is still running, and some arrays
may be longer than others.

--repair first does what cannot lose data. It finishes what a crashed writer left: such a change, and cut chunks that
were not yet moved to their keys, which other programs cannot decode until then. It updates stale consolidated metadata.
It writes a document again from which other programs read wrong values, such as that of netcdf-c with a shuffle of
elements of 0 bytes; that is a finding, too. Nothing is changed where a writer may still be running or the store is
read-only. What was repaired is printed first, one line each. With --json it is in "repaired", and every finding has a
member "repair" that says what else would help.

--repair-shards also restores the index of a shard that is damaged, if the shard itself proves what it was: by the
checksum of the index, or if only one byte of that is wrong and all inner chunks are sound. This needs inner chunks with
checksums (crc32c, gzip, or zstd with checksum). Nothing is guessed: an index that was cut off is lost, and the finding
says why a shard was left as it is. The inner chunks stay as they are, so no copy is kept.

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

With --plan, processes on several machines read the chunks (varve help run), and varve run --publish prints what all of them
have found, with the same status.

Temporary files are listed, but they are no damage. They belong to a write in progress or to a crashed writer. The next
command that writes here removes those of crashed writers.`,
		Example: `  varve check era5.zarr
  varve check era5.zarr/t2m --fast --json`,
		Args:              arguments("NODE"),
		ValidArgsFunction: node.Complete,
	}
	f := &checkFlags{}
	c.Flags().BoolVar(&f.how.Fast, "fast", false, "check only sizes and the indexes of shards: finds truncated raw chunks and empty ones, but no other damage")
	c.Flags().Var((*percentage)(&f.how.Sample), "sample", "check only a random `PART` of the stored chunks, such as 1%")
	c.Flags().BoolVar(&f.digest, "digest", false, "also print digests of the values, which do not depend on chunks and codecs")
	c.Flags().BoolVar(&f.dandi, "dandi", false, "also print the digest that the DANDI archive has for a Zarr asset")
	c.Flags().StringVar(&f.list, "write-manifest", "", "if there is no damage, write the SHA-256 of every stored value to `FILE`, as sha256sum -c reads it")
	c.Flags().StringVar(&f.against, "against", "", "decode nothing, but compare all stored values with the checksums in `FILE`")
	mend := c.Flags().Bool("repair", false, "first do what cannot lose data: finish what crashed writers left, update stale consolidated metadata, write documents again that other programs misread")
	shards := c.Flags().Bool("repair-shards", false, "as --repair, and restore damaged indexes of shards where their checksum proves what they were")
	c.Flags().BoolVar(&f.how.Complete, "complete", false, "treat chunks that are not stored as faults")
	planFlag(c, &f.planTo)
	dry := c.Flags().Bool("dry-run", false, "change nothing; only --repair and --repair-shards change anything")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if f.planTo != "" {
			return f.plan(cmd, args[0])
		}
		if f.against != "" {
			return checkAgainst(cmd, args[0], f.against)
		}
		if (*mend || *shards) && !*dry {
			if err := f.repair(cmd, args[0], *shards); err != nil {
				return err
			}
		}
		return f.run(cmd, args[0])
	}
	for _, name := range []string{"write-manifest", "digest", "dandi", "repair", "repair-shards", "complete", "sample", "fast"} {
		c.MarkFlagsMutuallyExclusive("against", name)
	}
	for _, name := range []string{"against", "digest", "repair", "repair-shards", "sample"} {
		c.MarkFlagsMutuallyExclusive("plan", name)
	}
	return c
}

// checkFlags are the flags of varve check.
type checkFlags struct {
	how           check.Options
	digest, dandi bool
	list, against string
	planTo        string
	// found writes the checksums that the tasks of a plan have computed, or is nil.
	found    func(ctx context.Context, to io.Writer) (checksums.Report, error)
	repaired []repairFact      // what --repair has done; nil without it
	unproven map[string]string // why indexes of shards were not restored, by key
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

// plan writes a plan whose tasks read the chunks.
func (f *checkFlags) plan(cmd *cobra.Command, location string) error {
	n, err := node.Open(cmd, location)
	if err != nil {
		return err
	}
	defer n.Close()
	chunks, err := chunksBelow(cmd.Context(), n)
	if err != nil {
		return err
	}
	head := dryrun.Head{Operation: cmd.Name(), Node: location, Strategy: "read-only", Guarantee: "atomic"}
	head.Stages = []dryrun.Stage{{Name: "check", Tasks: chunks}, {Name: "publish", Tasks: 1}}
	request := checkRequest{Check: job.Check{Fast: f.how.Fast, Complete: f.how.Complete, Checksums: f.list != "", DANDI: f.dandi}}
	if f.list != "" {
		request.List = absolute(f.list)
	}
	return writeShared(cmd, f.planTo, head, dryrun.Counts{}, request)
}

// checkRequest is the request of a plan. The command also has the file of
// --write-manifest.
type checkRequest struct {
	job.Check
	List string `json:"write_manifest,omitempty"`
}

// chunksBelow returns the number of chunks of an array, or of all arrays below a group.
func chunksBelow(ctx context.Context, n zarr.Node) (all int64, err error) {
	add := func(a *zarr.Array) {
		if more, ok := a.Grid().NumChunks(); !ok || all > math.MaxInt64-more {
			all = math.MaxInt64
		} else {
			all += more
		}
	}
	g, isGroup := n.(*zarr.Group)
	if !isGroup {
		add(n.(*zarr.Array))
		return all, nil
	}
	for m, err := range g.Members(ctx, true) {
		if err != nil {
			return 0, err
		}
		if a, ok := m.Node.(*zarr.Array); ok && m.Err == nil { // others are findings
			add(a)
		}
	}
	return all, nil
}

// printChecked prints what the tasks of a plan have found, as varve check does.
func printChecked(cmd *cobra.Command, plan *job.Plan, r *job.Checked) error {
	var q checkRequest
	if err := json.Unmarshal(plan.Request, &q); err != nil {
		return err
	}
	n, err := node.Open(cmd, plan.Node)
	if err != nil {
		return err
	}
	defer n.Close()
	f := &checkFlags{dandi: q.DANDI, list: q.List, found: r.Sums}
	if _, isArray := n.(*zarr.Array); isArray {
		return f.finishArray(cmd, withoutOptions(plan.Node), n, r.Report)
	}
	return f.finishGroup(cmd, withoutOptions(plan.Node), n, r.Report, r.Incomplete)
}

// run looks for damage at a location, and prints what it finds.
func (f *checkFlags) run(cmd *cobra.Command, location string) error {
	n, err := node.Open(cmd, location)
	if err != nil {
		return err
	}
	defer n.Close()
	p := &chunkProgress{cmd: cmd}
	f.how.Progress = p.show
	report, err := check.Run(cmd.Context(), n, &f.how)
	p.end()
	if _, isArray := n.(*zarr.Array); isArray {
		if err != nil {
			return err
		}
		return f.finishArray(cmd, location, n, report)
	}
	if report == nil {
		return err
	}
	return f.finishGroup(cmd, location, n, report, err)
}

// finishArray prints the result of the check of an array, with the digests and checksums
// that the flags ask for.
func (f *checkFlags) finishArray(cmd *cobra.Command, location string, n zarr.Node, report *check.Report) (err error) {
	c := newFindings(location, report.Arrays[0], f.unproven)
	c.Temporary = temporaryFacts(report.Temporary)
	c.Checked, c.Repaired = newCheckedCounts(report.Checked), f.repaired
	verdict := c.verdict()
	if c.sums, err = f.sums(cmd, n, verdict == nil); err != nil {
		return err
	}
	if err := c.print(cmd); err != nil {
		return err
	}
	return verdict
}

// finishGroup prints the result of the check of a group. bad is the reason if a part of
// it could not be checked.
func (f *checkFlags) finishGroup(cmd *cobra.Command, location string, n zarr.Node, report *check.Report, bad error) (err error) {
	all := newGroupFindings(location, report, f.unproven)
	all.Repaired = f.repaired
	verdict := all.verdict()
	if all.sums, err = f.sums(cmd, n, verdict == nil && bad == nil); err != nil {
		return err
	}
	if err := all.print(cmd); err != nil || bad != nil {
		return errors.Join(err, bad)
	}
	return verdict
}

// chunkProgress draws a line of progress for each array.
type chunkProgress struct {
	cmd  *cobra.Command
	line *progress.Line // nil before the first array
}

// show is the progress of a check.
func (p *chunkProgress) show(_ string, done, total int64) {
	if done > 0 {
		p.line.Add(1)
		return
	}
	p.end()
	p.line = progress.NewCount(p.cmd, "chunks", total)
}

// end ends the line of the present array.
func (p *chunkProgress) end() {
	if p.line != nil {
		p.line.End()
		p.line = nil
	}
}
