// SPDX-License-Identifier: Apache-2.0

package copying

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/console"
	"varve.dev/zarr/cmd/varve/internal/dryrun"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/flagtext"
	"varve.dev/zarr/cmd/varve/internal/growth"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/output"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/place"
	"varve.dev/zarr/cmd/varve/internal/planfile"
	"varve.dev/zarr/cmd/varve/internal/progress"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/cmd/varve/internal/usage"
	"varve.dev/zarr/convert"
	"varve.dev/zarr/internal/job"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/store"
)

// convertFlags are the flags of varve convert.
type convertFlags struct {
	to                  string
	dry, overwrite, yes bool
	planTo              string
	singleWriter        *bool
}

// NewConvert returns the command convert.
func NewConvert() *cobra.Command {
	c := &cobra.Command{
		Use:   "convert SRC [DST] --to 2|3",
		Short: "Convert a node and everything below it to the other format version",
		Long: `Convert a node and everything below it to the other format version.

Without DST the nodes are converted in place: only their documents change, not their chunks. From
format 2 to 3 that works for all arrays except structs whose fields have different byte orders. From
format 3 to 2 it requires chunks of one length along each axis, chunk keys of format 2, and codecs
that format 2 has. With DST the nodes are copied there, and SRC stays.`,
		Example: `  varve convert old.zarr --to 3 --dry-run
  varve convert station.zarr station-v2.zarr --to 2`,
		Args:              usage.Arguments("SRC", "[DST]"),
		ValidArgsFunction: node.Complete,
	}
	f := new(convertFlags)
	flagtext.Var(c.Flags(), &f.to, "to", "", "the `VERSION` of the format to convert to: 2 or 3", flagtext.OneOf("2", "3"))
	flagtext.Propose(c, "to", "2", "3")
	c.Flags().BoolVar(&f.dry, "dry-run", false, "change nothing, and print what would be converted and how")
	c.Flags().BoolVar(&f.yes, "yes", false, "do not ask before storing many missing chunks or replacing a group")
	c.Flags().BoolVar(&f.overwrite, "overwrite", false, "replace the node at DST; asks, or needs --yes, if it is a group with members")
	f.singleWriter = growth.SingleWriterFlag(c)
	planfile.Flag(c, &f.planTo)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		f.dry = f.dry || f.planTo != ""
		switch {
		case f.planTo != "" && (len(args) == 1 || f.overwrite):
			return failure.BadUsage("--plan is for a conversion to a new DST: in place there are only documents to convert")
		case f.to == "":
			return failure.BadUsage("--to is missing: 2 or 3")
		case len(args) == 1 && f.overwrite:
			return failure.BadUsage("--overwrite needs DST")
		}
		if f.format() == 2 {
			if err := node.OutsideRepository(args[len(args)-1], "has nodes of format 3 only: give a DST elsewhere"); err != nil {
				return err
			}
		}
		if len(args) == 1 {
			return f.inPlace(cmd, args[0])
		}
		return f.convertTo(cmd, args[0], args[1])
	}
	return c
}

func (f *convertFlags) format() int { return int(f.to[0] - '0') }

func (f *convertFlags) options(cmd *cobra.Command) *convert.Options {
	opt := &convert.Options{Options: *session.Reading(cmd), DryRun: f.dry, Overwrite: f.overwrite, FillAll: f.yes}
	opt.SingleWriter = *f.singleWriter
	return opt
}

// permitted runs a conversion. If that would store very many missing chunks, it fails
// before it changes anything; at a terminal, permitted then asks and runs it again.
func (f *convertFlags) permitted(cmd *cobra.Command, do func(*convert.Options) (convert.Conversion, error)) (convert.Conversion, error) {
	r, err := do(f.options(cmd))
	if !errors.Is(err, convert.ErrManyMissing) || !console.IsTerminal(cmd.InOrStdin()) {
		return r, err
	}
	chunks, size := toFill(r)
	yes, err := place.Ask(cmd, fmt.Sprintf("Store %s, %s?", phrase.Plural(chunks, "missing chunk"), phrase.Bytes(size)))
	if err != nil {
		return r, err
	}
	// The first attempt failed before it changed anything.
	if !yes {
		return r, failure.BadArgument("nothing was converted")
	}
	f.yes = true
	return do(f.options(cmd))
}

// toFill returns the number of missing chunks that a conversion stores, and their bytes.
func toFill(r convert.Conversion) (chunks, size int64) {
	for _, n := range r.Nodes {
		chunks += n.Filled
		size += n.FilledBytes
	}
	return chunks, size
}

func (f *convertFlags) inPlace(cmd *cobra.Command, location string) (err error) {
	access := store.ReadWrite
	if f.dry {
		access = store.ReadOnly
	}
	at, err := place.Locate(cmd.Context(), location, access)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, place.Close(at, true)) }()
	r, err := f.permitted(cmd, func(opt *convert.Options) (convert.Conversion, error) {
		p := progress.NewCount(cmd, "converting", 0)
		defer p.End()
		opt.Progress = p.Reach
		return convert.Convert(cmd.Context(), at, f.format(), opt)
	})
	// Readers take format 3 while both documents exist, so every node stays readable.
	if errors.Is(err, zarr.ErrIncomplete) {
		err = failure.Leftover(place.Named(cmd.Name(), location, at, err), "documents of both formats are stored: repeat the command to complete the conversion")
	}
	if err != nil {
		return place.Named(cmd.Name(), location, at, err)
	}
	return f.printResult(cmd, location, "", r)
}

func (f *convertFlags) convertTo(cmd *cobra.Command, from, to string) (err error) {
	defer func() { err = withoutArray(cmd, from, to, err) }()
	ctx := cmd.Context()
	src, err := place.Locate(ctx, from, store.ReadOnly)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, place.Close(src, true)) }()
	// Ask before the destination is opened, because opening may create its store.
	err = f.copying().agreed(cmd, src, from, to, &f.options(cmd).Options, func(dst *zarr.Location, trial zarr.Options) error {
		opt := f.options(cmd)
		opt.Options, opt.DryRun = trial, true
		_, err := convert.ConvertTo(ctx, src, dst, f.format(), opt)
		return err
	})
	if err != nil {
		return err
	}
	dst, err := f.copying().destination(cmd, to)
	if err != nil {
		return err
	}
	r, err := f.permitted(cmd, func(opt *convert.Options) (convert.Conversion, error) {
		p := progress.NewEstimate(cmd, "converting", 0, progress.MovedBytes)
		defer p.End()
		defer measureCopy(ctx, p, from, session.Reading(cmd))()
		return convert.ConvertTo(ctx, src, dst, f.format(), opt)
	})
	if err == nil {
		err = f.plan(cmd, from, to, r)
	}
	if err != nil {
		return f.copying().stopped(cmd, from, to, src, dst, err, "starts over")
	}
	if err := place.Close(dst, true); err != nil {
		return place.Named(cmd.Name(), from, src, err)
	}
	f.copying().noteDimensions(cmd, from, to)
	place.NoteFolder(cmd, to)
	return f.printResult(cmd, from, to, r)
}

// plan writes a plan, if it is asked for.
func (f *convertFlags) plan(cmd *cobra.Command, from, to string, r convert.Conversion) error {
	if f.planTo == "" {
		return nil
	}
	if own.IsArchive(node.LocalPath(to)) {
		return failure.BadArgument("%s: a zip archive is written by one process: leave out --plan", to)
	}
	head := dryrun.Head{Operation: cmd.Name(), Node: from, Target: &to, Strategy: "copy-publish", Guarantee: "atomic"}
	head.Stages = []dryrun.Stage{{Name: "convert", Tasks: r.Values}, {Name: "publish", Tasks: 1}}
	return planfile.Write(cmd, f.planTo, head, dryrun.Counts{}, job.Conversion{Format: f.format(), FillAll: f.yes})
}

// copying returns the flags for the copy that a conversion with DST makes.
func (f *convertFlags) copying() *copyFlags {
	return &copyFlags{dry: f.dry, overwrite: f.overwrite, yes: f.yes, singleWriter: f.singleWriter}
}

// conversionFacts is the result of the command, in the form of --json.
type conversionFacts struct {
	Source      string           `json:"source"`
	Destination *string          `json:"destination"` // null for a conversion in place
	To          int              `json:"to"`
	DryRun      bool             `json:"dry_run"`
	Arrays      int              `json:"arrays"`
	Groups      int              `json:"groups"`
	Filled      int64            `json:"chunks_filled"` // missing chunks that are now stored
	FilledBytes int64            `json:"bytes_filled"`
	Reserved    int              `json:"reserved_names"` // nodes of format 3 that begin with "__"
	Files       int64            `json:"other_files"`    // that belong to no node, copied as they are
	Left        int64            `json:"files_left_out"` // that belong to no node, but would look like a part of one
	LeftNames   []string         `json:"left_out"`       // the first of these
	Checksums   int              `json:"zstd_checksums"` // arrays of format 2 that keep them
	Nodes       []convertedFacts `json:"nodes"`

	removed []string // nodes that --overwrite would remove; only in a dry run
}

type convertedFacts struct {
	Path string  `json:"path"` // relative to the source
	Kind string  `json:"kind"`
	From int     `json:"from"`
	Anew *string `json:"encoded_anew"` // why chunks are re-encoded, null if they are not

	Missing     *string `json:"missing_values"` // how their mark changes, null if it stays
	Lost        bool    `json:"missing_values_lost"`
	Filled      int64   `json:"chunks_filled"`
	FilledBytes int64   `json:"bytes_filled"`
	Refused     bool    `json:"refused_by_xarray"` // for its attribute _FillValue
	Growth      *string `json:"growth"`            // why a stored policy is removed, else null
	Imaging     *string `json:"ome"`               // what becomes of metadata of OME-Zarr, else null
	Unknown     *string `json:"unknown_members"`   // members of the document that are left out, else null
}

func (f *convertFlags) printResult(cmd *cobra.Command, from, to string, r convert.Conversion) error {
	c := conversionFacts{Source: from, Destination: output.Present(to), To: f.format(), DryRun: f.dry, Files: r.Files, Left: r.Left, LeftNames: append([]string{}, r.LeftNames...), Nodes: []convertedFacts{}}
	for _, n := range r.Nodes {
		if n.Kind == "array" {
			c.Arrays++
		} else {
			c.Groups++
		}
		if n.Reserved {
			c.Reserved++
		}
		if n.Checksum {
			c.Checksums++
		}
		c.Nodes = append(c.Nodes, convertedFacts{n.Path, n.Kind, n.From, output.Present(failure.WithoutPackages(n.Anew)), output.Present(n.Missing), n.Lost, n.Filled, n.FilledBytes, n.Refused, output.Present(n.Growth), output.Present(n.Imaging), output.Present(n.Unknown)})
	}
	c.Filled, c.FilledBytes = toFill(r)
	if to != "" {
		c.removed = f.copying().removed(cmd.Context(), to)
	}
	switch {
	case session.WantsJSON(cmd) && f.dry:
		p, err := c.plan(cmd)
		return errors.Join(err, session.PrintJSON(cmd, p))
	case session.WantsJSON(cmd):
		return session.PrintJSON(cmd, c)
	}
	return c.print(cmd.OutOrStdout())
}

// conversionPlan is the plan of a dry run, in the form of --json. For a conversion to
// DST the number of chunks is unknown.
type conversionPlan struct {
	dryrun.Head
	*conversionFacts
	dryrun.Counts
}

// plan returns the plan of a dry run.
func (c *conversionFacts) plan(cmd *cobra.Command) (p conversionPlan, err error) {
	nodes := int64(len(c.Nodes))
	p.Head = dryrun.Head{Operation: cmd.Name(), Node: c.Source, Target: c.Destination, Strategy: "copy-publish", Guarantee: dryrun.Guarantee(cmd)}
	p.conversionFacts = c
	p.Stages = dryrun.Stages(dryrun.Stage{Name: "publish", Tasks: nodes})
	// In place no chunk is read or copied, so the counts are known.
	if c.Destination == nil {
		p.Strategy, p.Stages = "documents-only", dryrun.Stages(dryrun.Stage{Name: "write", Tasks: c.Filled}, dryrun.Stage{Name: "publish", Tasks: nodes})
		none := new(int64)
		p.Counts = dryrun.Counts{New: &c.Filled, Rewritten: none, Copied: none, Dropped: none, BytesCopied: none, BytesDecoded: none}
	}
	p.Removed = c.removed
	p.Fingerprint, err = dryrun.Fingerprint(p)
	return p, err
}

// done describes what was done with the nodes, or would be.
func (c *conversionFacts) done() string {
	already := int64(0)
	for _, n := range c.Nodes {
		if n.From == c.To {
			already++
		}
	}
	done, before := fmt.Sprintf("now have format %d", c.To), "; %s already had it"
	switch {
	case c.Destination != nil && c.DryRun:
		done, before = fmt.Sprintf("to copy in format %d, nothing was changed", c.To), "; in the source %s already had it"
	case c.Destination != nil:
		done, before = fmt.Sprintf("copied in format %d", c.To), "; in the source %s already had it"
	case c.DryRun:
		done = fmt.Sprintf("to convert to format %d, nothing was changed", c.To)
	}
	if already > 0 {
		done += fmt.Sprintf(before, phrase.Count(already))
	}
	return done
}

func (c *conversionFacts) print(w io.Writer) error {
	place := c.Source
	if c.Destination != nil {
		place = *c.Destination
	}
	if _, err := fmt.Fprintf(w, "%s  %s and %s %s\n", phrase.Printable(place), phrase.Plural(int64(c.Arrays), "array"), phrase.Plural(int64(c.Groups), "group"), c.done()); err != nil {
		return err
	}
	if err := printRemoved(w, c.removed); err != nil {
		return err
	}
	for _, n := range c.Nodes {
		if n.Anew != nil {
			if _, err := fmt.Fprintf(w, "  re-encoded    %s: %s\n", phrase.Printable("/"+n.Path), phrase.Printable(phrase.Shorten(*n.Anew, 160))); err != nil {
				return err
			}
		}
		if n.Growth != nil {
			if _, err := fmt.Fprintf(w, "  growth        %s: %s\n", phrase.Printable("/"+n.Path), phrase.Printable(*n.Growth)); err != nil {
				return err
			}
		}
		if n.Unknown != nil {
			if _, err := fmt.Fprintf(w, "  left out      %s: %s\n", phrase.Printable("/"+n.Path), phrase.Printable(*n.Unknown)); err != nil {
				return err
			}
		}
		if n.Imaging != nil {
			if _, err := fmt.Fprintf(w, "  note  %s: %s\n", phrase.Printable("/"+n.Path), *n.Imaging); err != nil {
				return err
			}
		}
	}
	return errors.Join(c.printMissing(w), c.noteFiles(w), noteReserved(w, c.Reserved), noteChecksums(w, c.Checksums))
}

// shownFiles bounds the files that a note names.
const shownFiles = 3

// noteFiles prints the numbers of files that belong to no node, if any: of those that are
// left out, and of those that are copied.
func (c *conversionFacts) noteFiles(w io.Writer) error {
	if c.Left > 0 {
		var names []string
		for _, name := range c.LeftNames[:min(shownFiles, len(c.LeftNames))] {
			names = append(names, phrase.Printable(name))
		}
		if more := c.Left - int64(len(names)); more > 0 {
			names = append(names, "… "+phrase.Count(more)+" more")
		}
		if _, err := fmt.Fprintf(w, "  note  left out: %s in the directories of nodes, which would be taken for documents or chunks: %s\n",
			phrase.Plural(c.Left, "file"), strings.Join(names, ", ")); err != nil {
			return err
		}
	}
	if c.Files == 0 {
		return nil
	}
	done := "copied as they are"
	if c.DryRun {
		done = "to copy as they are"
	}
	_, err := fmt.Fprintf(w, "  note  %s: %s outside of the Zarr nodes\n", done, phrase.Plural(c.Files, "file"))
	return err
}

// noteChecksums says which programs do not read arrays of format 2 with the checksum of
// zstd, and how to make others.
func noteChecksums(w io.Writer, n int) error {
	if n == 0 {
		return nil
	}
	_, err := fmt.Fprintf(w, "  note  in %s zstd keeps its checksum, which TensorStore and numcodecs before 0.13 refuse in format 2: for them, first varve rechunk --compressor zstd:nochecksum\n", phrase.Plural(int64(n), "array"))
	return err
}

// printMissing prints how the mark of missing values changes: for all arrays in a dry
// run, otherwise if it is lost or if xarray no longer opens the group.
func (c *conversionFacts) printMissing(w io.Writer) error {
	for _, n := range c.Nodes {
		// A change that keeps the meaning is only of interest before it is made.
		if n.Missing == nil || !c.DryRun && !n.Lost && !n.Refused {
			continue
		}
		text := *n.Missing
		if n.Filled > 0 {
			text += fmt.Sprintf("; %s to store, %s", phrase.Plural(n.Filled, "missing chunk"), phrase.Bytes(n.FilledBytes))
		}
		if _, err := fmt.Fprintf(w, "  missing values  %s: %s\n", phrase.Printable("/"+n.Path), phrase.Printable(text)); err != nil {
			return err
		}
	}
	if c.Filled == 0 {
		return nil
	}
	done := "stored"
	if c.DryRun {
		done = "to store"
	}
	_, err := fmt.Fprintf(w, "  missing chunks  %s, %s: %s\n", phrase.Count(c.Filled), phrase.Bytes(c.FilledBytes), done)
	return err
}

// PrintConverted prints what a conversion has done, as varve convert does.
func PrintConverted(cmd *cobra.Command, plan *job.Plan, r convert.Conversion) error {
	var q job.Conversion
	if err := json.Unmarshal(plan.Request, &q); err != nil {
		return err
	}
	f := &convertFlags{to: strconv.Itoa(q.Format)}
	return f.printResult(cmd, place.WithoutOptions(plan.Node), place.WithoutOptions(*plan.Target), r)
}
