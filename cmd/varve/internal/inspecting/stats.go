// SPDX-License-Identifier: Apache-2.0

package inspecting

import (
	"bufio"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/dryrun"
	"varve.dev/zarr/cmd/varve/internal/facts"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/growth"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/progress"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/cmd/varve/internal/usage"
	"varve.dev/zarr/internal/statistics"
)

// statsFlags are the flags of stats.
type statsFlags struct {
	dry, drop, print bool
	memory           string
	singleWriter     *bool
}

// NewStats returns the command stats.
func NewStats() *cobra.Command {
	c := &cobra.Command{
		Use:   "stats NODE",
		Short: "Find out what each chunk holds, and keep it beside the array",
		Long: `Find out what each chunk of an array, or of all arrays of a group, holds: the least and the largest
number, and how many elements are missing or have the fill value. Of shards, this is found out for
each inner chunk. It is kept beside the array, where varve filter --where finds it and reads only the
chunks that can match.

What is kept of a chunk names the version of the chunk. Once any program has written the chunk, it
does not count any more: it is never wrong. Give the command again to read what has changed.`,
		Example: `  varve stats era5.zarr/t2m
  varve stats era5.zarr --dry-run
  varve stats era5.zarr/t2m --print`,
		Args:              usage.Arguments("NODE"),
		ValidArgsFunction: node.Complete,
	}
	s := new(statsFlags)
	f := c.Flags()
	f.BoolVar(&s.dry, "dry-run", false, "change nothing, and print how much would be read")
	f.BoolVar(&s.drop, "drop", false, "remove what is kept")
	f.BoolVar(&s.print, "print", false, "only print: keep nothing, and change nothing")
	f.StringVar(&s.memory, "memory", "", "hold at most `SIZE` of elements at once, such as 2GiB (512MiB by default)")
	s.singleWriter = growth.SingleWriterFlag(c)
	c.RunE = func(cmd *cobra.Command, args []string) error { return s.run(cmd, args[0]) }
	return c
}

// holdings are what the chunks of an array hold, in the form of --json.
type holdings struct {
	Path    string  `json:"path"`
	Refused *string `json:"refused"` // why there are no statistics of the array
	Dropped *bool   `json:"dropped,omitempty"`

	Chunks  int64 `json:"chunks_stored"`
	Read    int64 `json:"chunks_read"`
	Changed int64 `json:"chunks_changed"`
	Decoded int64 `json:"bytes_decoded"`
	facts.Holdings
}

// statsFacts are the result of the command in the form of --json.
type statsFacts struct {
	dryrun.Head
	Path   string     `json:"path"`
	DryRun bool       `json:"dry_run"`
	Kept   bool       `json:"kept"`
	Arrays []holdings `json:"arrays"`
	dryrun.Counts
}

func (s *statsFlags) run(cmd *cobra.Command, location string) error {
	if s.drop && s.print {
		return failure.BadUsage("--drop removes what is kept, and --print keeps nothing: give one of them")
	}
	opt, err := s.options()
	if err == nil && !s.print {
		err = node.OutsideRepository(location, "keeps no statistics: --print prints them")
	}
	if err != nil {
		return err
	}
	access := session.Reading(cmd)
	if !s.dry && !s.print {
		access = session.Writing(cmd)
		access.SingleWriter = *s.singleWriter
	}
	n, err := zarr.Open(cmd.Context(), location, access)
	if err != nil {
		return err
	}
	defer n.Close()
	done := statsFacts{Path: location, DryRun: s.dry, Kept: !s.dry && !s.print && !s.drop, Arrays: []holdings{}}
	if a, ok := n.(*zarr.Array); ok {
		h, err := s.of(cmd, a, opt)
		if err != nil {
			return err
		}
		done.Arrays = append(done.Arrays, h)
	} else {
		for m, err := range node.Arrays(cmd, location, n.(*zarr.Group), access, node.Filter{Deep: true}) {
			if err != nil {
				return err
			}
			h, err := s.of(cmd, m.Array, opt)
			// Other arrays of a group have numbers all the same.
			if errors.Is(err, zarr.ErrUnsupported) {
				h, err = holdings{Refused: reason(err)}, nil
			}
			if err != nil {
				return err
			}
			h.Path = m.Name
			done.Arrays = append(done.Arrays, h)
		}
	}
	if session.WantsJSON(cmd) {
		return done.printJSON(cmd)
	}
	return session.Print(cmd, done.print)
}

// reason returns why there are no statistics, without the array.
func reason(err error) *string {
	if e := (*zarr.Error)(nil); errors.As(err, &e) {
		err = e.Err
	}
	text := strings.TrimPrefix(err.Error(), zarr.ErrUnsupported.Error()+": ")
	return &text
}

func (s *statsFlags) options() (*statistics.Options, error) {
	o := &statistics.Options{DryRun: s.dry, Discard: s.print}
	if s.memory == "" {
		return o, nil
	}
	n, err := phrase.ParseSize(s.memory)
	if err == nil && n < 1 {
		err = errors.New("must be at least 1 byte")
	}
	if err != nil {
		return nil, failure.BadUsage("--memory %s: %w", s.memory, err)
	}
	o.Memory = n
	return o, nil
}

// of makes or drops the statistics of an array.
func (s *statsFlags) of(cmd *cobra.Command, a *zarr.Array, opt *statistics.Options) (h holdings, err error) {
	if s.drop {
		var found bool
		if s.dry {
			found, err = statistics.IsKept(cmd.Context(), a)
		} else {
			found, err = statistics.Drop(cmd.Context(), a)
		}
		return holdings{Dropped: &found}, err
	}
	p := progress.NewCount(cmd, "chunks", 0)
	defer p.End()
	with := *opt
	with.Progress = p.Reach
	r, err := statistics.Make(cmd.Context(), a, &with)
	if err != nil {
		return h, err
	}
	h = holdings{Chunks: r.Chunks, Read: r.Read, Changed: r.Changed, Decoded: r.Decoded}
	h.Holdings, err = facts.HoldingsOf(cmd.Context(), a, r)
	return h, err
}

func (f statsFacts) printJSON(cmd *cobra.Command) error {
	read, decoded := int64(0), int64(0)
	for _, h := range f.Arrays {
		read, decoded = read+h.Read, decoded+h.Decoded
	}
	f.Head = dryrun.Head{
		Operation: cmd.Name(), Node: f.Path, Strategy: "data-first", Guarantee: "atomic",
		Stages: dryrun.Stages(dryrun.Stage{Name: "read", Tasks: read}, dryrun.Stage{Name: "write", Tasks: int64(len(f.Arrays))}),
	}
	f.Counts = dryrun.Counts{
		Kept: new(int64), New: new(int64), Rewritten: new(int64), Copied: new(int64), Dropped: new(int64),
		BytesCopied: new(int64), BytesDropped: new(int64), BytesDecoded: &decoded, BytesEncoded: new(int64), Scratch: new(int64),
	}
	var err error
	if f.Fingerprint, err = dryrun.Fingerprint(f); err != nil {
		return err
	}
	return session.PrintJSON(cmd, f)
}

// print prints a line for each array.
func (f statsFacts) print(w *bufio.Writer) error {
	for _, h := range f.Arrays {
		at := f.Path
		if h.Path != "" {
			at = node.Clean(f.Path) + "/" + h.Path
		}
		fmt.Fprintf(w, "%s  %s\n", phrase.Printable(at), strings.Join(h.texts(f.DryRun), ", "))
	}
	if len(f.Arrays) == 0 {
		fmt.Fprintf(w, "%s  no arrays\n", phrase.Printable(f.Path))
	}
	return nil
}

// texts says what the chunks of an array hold.
func (h holdings) texts(dry bool) []string {
	switch {
	case h.Refused != nil:
		return []string{phrase.Printable(*h.Refused)}
	case h.Dropped != nil && !*h.Dropped:
		return []string{"no statistics are kept"}
	case h.Dropped != nil && dry:
		return []string{"the statistics would be removed"}
	case h.Dropped != nil:
		return []string{"the statistics were removed"}
	case dry:
		return []string{fmt.Sprintf("%s of %s to read (nothing was changed)", phrase.Count(h.Read), phrase.Plural(h.Chunks, "stored chunk"))}
	}
	list := append(h.Texts(), fmt.Sprintf("read %s of %s", phrase.Count(h.Read), phrase.Plural(h.Chunks, "stored chunk")))
	if h.Changed > 0 {
		list = append(list, phrase.Plural(h.Changed, "chunk")+" written meanwhile: give the command again")
	}
	return list
}
