// SPDX-License-Identifier: Apache-2.0

// Package growth implements what the commands that grow arrays share: flags, policies,
// times, and new planes.
package growth

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cf/calendar"
	"varve.dev/zarr/cmd/varve/internal/argument"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/flagtext"
	"varve.dev/zarr/cmd/varve/internal/input"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/output"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/metadata"
)

// policies are the growth policies.
var policies = []struct {
	word     string // what it begins with; one that ends in ":" needs more text
	relative bool   // it depends on the chunks or the times of the axis
}{
	{"append-one", false}, {"repeat-last", true}, {"fixed:", false}, {"pattern:", false}, {"calendar:", true}, {"preplanned:", true},
}

// policyWords returns what policies begin with.
func policyWords() []string {
	var words []string
	for _, p := range policies {
		words = append(words, p.word)
	}
	return words
}

// Policy is the value of --grow.
type Policy struct {
	Growth grid.Growth
	Unit   calendar.Unit // of a calendar policy, which needs times to become a growth; else 0
	Stored bool          // the policy is stored with the array

	// note prints that a chunk begins within a month or a year. It may be nil.
	note func(text string)
}

// noteGap prints that a chunk begins within a month or a year because times are missing.
func (p Policy) noteGap(unaligned error) {
	if p.note != nil {
		p.note(fmt.Sprintf("%v; a chunk begins there, because the times have gaps", unaligned))
	}
}

// noteLoneTime prints that the first chunk has the only time that is known. How long
// its month will be follows from the next one.
func (p Policy) noteLoneTime() {
	if p.note != nil {
		p.note(fmt.Sprintf("the first chunk has one element, because one time does not tell how far times are apart; "+
			"the next chunk has the rest of its %v, and varve compact --to %s merges both", p.Unit, p.text()))
	}
}

// ParsePolicy parses a growth policy.
func ParsePolicy(text string) (p Policy, err error) {
	if err := flagtext.Policy(policyWords()...)(text); err != nil {
		return p, err
	}
	if p.Growth, err = grid.ParseGrowth(text); errors.Is(err, grid.ErrCalendar) {
		p.Unit, err = parseCalendar(text)
	}
	return p, err
}

// IsRelative reports whether a policy, as text, depends on the chunks or the times of an
// axis. Others cut any number of elements in the same way.
func IsRelative(policy string) bool {
	for _, p := range policies {
		if p.relative && strings.HasPrefix(policy, p.word) {
			return true
		}
	}
	return false
}

// parseCalendar parses calendar:month and calendar:year.
func parseCalendar(text string) (calendar.Unit, error) {
	return calendar.ParseUnit(strings.TrimPrefix(text, "calendar:"))
}

// Change has the flags of all commands that change an extent.
type Change struct {
	grow, Expect string
	RoundUp      bool
	Alone        *bool
	By           string // the coordinate of --by, or ""
	OnDuplicate  string
	Grace        string // of superseded grids, before late planes are inserted
	Unlock       bool   // permits listed chunks where late planes are inserted
	SingleWriter *bool
	times        Times
}

// Flags adds the flags of a change of the shape to a command.
func Flags(c *cobra.Command) *Change {
	f := new(Change)
	flagtext.Var(c.Flags(), &f.grow, "grow", "append-one", "the `POLICY` for new chunks of listed axes", flagtext.Syntax(ParsePolicy))
	f.times.Flags(c)
	flagtext.Var(c.Flags(), &f.Expect, "expect", "", "change the array only if it has this `SHAPE`", flagtext.Syntax(argument.ParseShape))
	c.Flags().BoolVar(&f.RoundUp, "round-up", false, "lengthen the last shard to whole inner chunks")
	f.Alone = AloneFlag(c)
	f.SingleWriter = SingleWriterFlag(c)
	ProposePolicies(c)
	return f
}

// ProposePolicies defines what shells complete for the value of --grow.
func ProposePolicies(c *cobra.Command) {
	var words []string
	for _, word := range policyWords() {
		if word != "calendar:" {
			words = append(words, word)
		}
	}
	flagtext.Propose(c, "grow", append(words, "calendar:month", "calendar:year")...)
}

// SingleWriterFlag adds the flag --single-writer to a command.
func SingleWriterFlag(c *cobra.Command) *bool {
	return c.Flags().Bool("single-writer", false, "promise that no other writer exists: for stores without locks")
}

// Policy returns the value of --grow. Flags that contradict it are wrong usage.
func (c *Change) Policy(cmd *cobra.Command) (Policy, error) {
	p, err := ParsePolicy(c.grow)
	if err != nil {
		return p, failure.BadUsage("--grow %s: %w", c.grow, err)
	}
	return p, c.times.Check(cmd, p.Unit, "--grow")
}

// Options returns the options for the flags.
func (c *Change) Options(cmd *cobra.Command) *zarr.Options {
	o := session.Writing(cmd)
	o.SingleWriter = *c.SingleWriter
	return o
}

// Expected returns the shape of --expect, or nil if it is not given.
func (c *Change) Expected(cmd *cobra.Command) ([]int64, error) {
	if !cmd.Flags().Changed("expect") {
		return nil, nil
	}
	return argument.ParseShape(c.Expect)
}

// Met returns a conflict if an array has another shape than the one expected; nil expects
// nothing. It is called before sources are opened, so that a command that was repeated is
// told from one whose data are wrong.
func Met(a *zarr.Array, expect []int64) error {
	if is := a.Shape(); expect != nil && !slices.Equal(expect, is) {
		return failure.OfKind(zarr.ErrConflict, "%w, or by this very change before: the shape is %v, %v was expected", zarr.ErrConflict, is, expect)
	}
	return nil
}

// Along returns the policy for an axis of the given extent with the times of its
// elements. A calendar policy needs times.
func (p Policy) Along(l Timeline, b calendar.Buckets, extent int64) grid.Growth {
	if p.Unit == 0 {
		return p.Growth
	}
	return grid.ByBoundaries(p.text(), func(at int64) (int64, error) {
		_, gaps := b.Len()
		if gaps && l.coordinate != nil && at >= int64(l.coordinate.len()) {
			// The length of a month is predicted from its first time, so there must be
			// one.
			return 0, failure.BadArgument("%w: it has %s, and a chunk begins at element %d: %s",
				calendar.ErrOutOfRange, phrase.Plural(int64(l.coordinate.len()), "value"), at, l.coordinate.longer())
		}
		err := b.Fits(at)
		if at == 1 && errors.Is(err, calendar.ErrUnaligned) {
			err = nil // the first append had one time, whose chunk is its own
		}
		if gaps && l.coordinate != nil && l.coordinate.len() == 1 {
			p.noteLoneTime()
		}
		if gaps && errors.Is(err, calendar.ErrUnaligned) {
			// The previous month was predicted to be longer than it was.
			p.noteGap(err)
			err = nil
		}
		if errors.Is(err, calendar.ErrUnaligned) {
			return 0, p.aligned(b, at, extent, err)
		}
		next := int64(0)
		if err == nil {
			next, err = b.Next(at)
		}
		// Steps have no end. A coordinate that ends too early can be lengthened.
		if errors.Is(err, calendar.ErrOutOfRange) && l.coordinate != nil {
			return 0, failure.BadArgument("%w: %s", err, l.coordinate.longer())
		}
		if err != nil {
			return 0, failure.BadArgument("%w", err)
		}
		return next, nil
	})
}

// AloneFlag adds the flag --alone to a command.
func AloneFlag(c *cobra.Command) *bool {
	return c.Flags().Bool("alone", false, "change the array even if other arrays of its group keep their length along the dimension")
}

// Stored is the value of the attribute varve:growth.
type Stored struct {
	Policy   string          `json:"policy"`
	Axis     json.RawMessage `json:"axis,omitempty"` // a number or a name; missing means 0
	Time     string          `json:"time,omitempty"` // name of an array in the same group
	Start    string          `json:"start,omitempty"`
	Step     string          `json:"step,omitempty"`
	Calendar string          `json:"calendar,omitempty"`
}

// Of returns the policy that is stored with an array, and its axis. found is false if
// there is none.
func Of(a *zarr.Array) (s Stored, axis int, found bool, err error) {
	raw, found, err := metadata.Attribute(a.Attributes(), own.Growth)
	if err != nil || !found {
		return s, 0, false, err
	}
	if err := s.read(raw); err != nil {
		return s, 0, true, err
	}
	if axis, err = s.axis(a); err != nil {
		return s, 0, true, s.malformed(failure.OneLine(err))
	}
	return s, axis, true, nil
}

// read parses the value of the attribute.
func (s *Stored) read(value []byte) error {
	if err := json.Unmarshal(value, s); err != nil {
		return s.malformed("it is not an object with the strings policy, time, start, step and calendar")
	}
	return nil
}

func (s Stored) axis(a *zarr.Array) (int, error) {
	text := strings.Trim(string(s.Axis), `"`)
	if text == "" {
		text = "0"
	}
	return argument.AxisIn(text, a)
}

// malformedGrowth is the error for an attribute that cannot be used.
type malformedGrowth struct{ why, location string }

// malformed returns the error for an attribute of an array whose location is not known
// yet.
func (s Stored) malformed(why string) error { return &malformedGrowth{why, "NODE"} }

func (m *malformedGrowth) Unwrap() error { return zarr.ErrInvalidMetadata }

func (m *malformedGrowth) Error() string {
	return fmt.Sprintf("%v: attribute %s: %s; set it again (varve attrs %s set %s '{\"policy\": \"calendar:month\", \"time\": \"time\"}'), "+
		"remove it (varve attrs %s unset %s), or give --grow", zarr.ErrInvalidMetadata, own.Growth, m.why, m.location, own.Growth, m.location, own.Growth)
}

// locateGrowth adds the location of the array to the error for a malformed attribute.
func locateGrowth(err error, location string) error {
	var m *malformedGrowth
	if errors.As(err, &m) {
		m.location = phrase.Word(location)
	}
	return err
}

// policy returns the policy in the attribute, and the times of the elements.
func (s Stored) policy(reading func() *zarr.Options) (p Policy, t Times, err error) {
	t = Times{Coordinate: s.Time, Start: s.Start, Step: s.Step, Calendar: s.Calendar, reading: reading}
	if p, err = ParsePolicy(s.Policy); err != nil {
		return p, t, s.malformed(fmt.Sprintf("policy %q: %v", s.Policy, err))
	}
	steps := s.Start != "" || s.Step != "" || s.Calendar != ""
	switch {
	case p.Unit == 0 && (steps || s.Time != ""):
		return p, t, s.malformed("only a calendar takes times")
	case p.Unit == 0:
		return p, t, nil
	case s.Time != "" && steps:
		return p, t, s.malformed("time excludes start, step and calendar")
	// A location in an attribute would break when the group is moved.
	case strings.Contains(s.Time, "/"):
		return p, t, s.malformed(fmt.Sprintf("time %q is not the name of an array in the same group", s.Time))
	case s.Time == "":
		if _, err = calendar.ParseSteps(s.Start, s.Step, s.Calendar); err != nil {
			err = s.malformed(fmt.Sprintf("it needs time, or start and step: %v", err))
		}
	}
	return p, t, err
}

// Along returns the policy for an axis of an array, with its times: those of the flags,
// or without --grow those that are stored with the array.
func (c *Change) Along(cmd *cobra.Command, p Policy, a *zarr.Array, location string, axis int) (Policy, Times, error) {
	p, t, err := c.policyAlong(cmd, p, a, location, axis)
	told := false
	p.note = func(text string) {
		if !told { // the change may be planned several times
			session.Remark(cmd, location, failure.WithoutPackages(text))
		}
		told = true
	}
	return p, t, err
}

// policyAlong is Along without notes about gaps.
func (c *Change) policyAlong(cmd *cobra.Command, p Policy, a *zarr.Array, location string, axis int) (Policy, Times, error) {
	s, stored, found, err := Of(a)
	if cmd.Flags().Changed("grow") {
		// A malformed attribute does not matter, because --grow replaces it.
		if found && err == nil && stored == axis {
			c.noteDeparture(cmd, s, location)
		}
		return p, c.times, nil
	}
	// The stored policy is for one axis only. Others follow the flags, which then have
	// their defaults.
	if !found || err == nil && stored != axis {
		return p, c.times, nil
	}
	if err != nil {
		return p, c.times, locateGrowth(err, location)
	}
	p, t, err := s.policy(c.times.reading)
	p.Stored = true
	return p, t, locateGrowth(err, location)
}

// noteDeparture prints that --grow differs from the stored policy.
func (c *Change) noteDeparture(cmd *cobra.Command, s Stored, location string) {
	// Programs read standard error as JSON, so only people get the note.
	if _, _, err := s.policy(nil); err != nil || s.Policy == c.grow || session.WantsJSON(cmd) {
		return
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "%s: --grow %s differs from the stored policy, %s: later appends may not fit the pattern\n",
		phrase.Printable(location), phrase.Printable(c.grow), phrase.Printable(s.Policy))
}

// Followable returns an error if a value of the attribute varve:growth cannot be used for
// any array.
func Followable(value []byte) error {
	var s Stored
	err := s.read(value)
	if err == nil {
		_, _, err = s.policy(nil)
	}
	var m *malformedGrowth
	if errors.As(err, &m) {
		return failure.BadUsage("attribute %s: %s", own.Growth, m.why)
	}
	return err
}

// GrowsBy returns an error if a policy cannot be that of an axis.
func GrowsBy(s *zarr.Spec, p Policy, axis int) error {
	if len(s.Shape) == 0 {
		return failure.BadArgument("--grow: the array has no axis")
	}
	if s.Grid != nil && axis < len(s.Shape) && s.Grid.Axis(axis).IsRegular() && !p.follows() {
		return failure.OnAxis(axis, "--grow: its chunks have one length and follow the extent: list them (--chunks '[[…], …]', calendar:month)")
	}
	return nil
}

// follows reports whether a policy describes a regular axis, whose chunks follow the
// extent.
func (p Policy) follows() bool {
	return p.Unit == 0 && p.Growth.KeepsRegular()
}

// text returns the policy in the form of --grow.
func (p Policy) text() string {
	if p.Unit != 0 {
		return "calendar:" + p.Unit.String()
	}
	return p.Growth.String()
}

// Listed returns an error if an axis has no list of chunks to lengthen. The error names
// the commands that make one.
func (p Policy) Listed(a *zarr.Array, axis int, location string) error {
	if axis < 0 || axis >= a.Rank() || !a.Grid().Axis(axis).IsRegular() || p.follows() {
		return nil
	}
	unlock := fmt.Sprintf("varve unlock %s --axis %d", phrase.Word(location), axis)
	text := fmt.Sprintf("--grow %.80s: its chunks of %d follow the extent: list them first (%s)", p.text(), a.Grid().Axis(axis).Step(), unlock)
	// Format 2 has no lists of chunks.
	if a.Format() == 2 {
		text = fmt.Sprintf("--grow %.80s: its chunks of %d follow the extent, as all chunks of format 2 do: convert it (varve convert %s --to 3) and list them (%s)",
			p.text(), a.Grid().Axis(axis).Step(), phrase.Word(node.RootOf(location, a)), unlock)
	}
	if p.Stored {
		text = strings.Replace(text, "--grow", "attribute "+own.Growth, 1) +
			fmt.Sprintf(", or remove the attribute (varve attrs %s unset %s)", phrase.Word(location), own.Growth)
	}
	return failure.OnAxis(axis, "%s", text)
}

// AxisWithoutEffect returns an axis that grows although the policy has no effect on it,
// or -1. A calendar or stored policy counts only for its own axis. Any other policy
// counts for every axis that grows, and one axis with a list is enough.
func (p Policy) AxisWithoutEffect(a *zarr.Array, axis int, to []int64) int {
	first := -1
	if len(to) != a.Rank() {
		return first // the library refuses the shape
	}
	for i, n := range a.Shape() {
		if to[i] <= n || i != axis && (p.Unit != 0 || p.Stored) {
			continue
		}
		// The policy counts for this axis, and that is enough.
		if !a.Grid().Axis(i).IsRegular() {
			return -1
		}
		if first < 0 && !p.follows() {
			first = i
		}
	}
	return first
}

// aligned returns the error for a calendar policy after chunks that end within a month,
// at an element. The error says how to complete the month.
func (p Policy) aligned(b calendar.Buckets, at, extent int64, unaligned error) error {
	text := fmt.Sprintf("the present chunks end at element %d: %v", at, unaligned)
	next, err := b.Next(at)
	if err != nil {
		return failure.BadArgument("%s; --grow append-one appends without the calendar", text)
	}
	instead := ""
	if p.Stored {
		instead = ", instead of the attribute " + own.Growth
	}
	return failure.BadArgument("%s; grow by at most %s with --grow fixed:%d%s, which completes the %v, and use the calendar from there on",
		text, phrase.Plural(next-extent, "element"), next-at, instead, p.Unit)
}

// longer returns the command that lengthens a coordinate that ends too early.
func (c *coordinate) longer() string {
	return fmt.Sprintf("append the missing times first (varve append %s FILE --alone)", phrase.Word(c.name))
}

// stepped returns the flags that replace a coordinate with a single time.
func (c *coordinate) stepped(unit calendar.Unit) string {
	flags := fmt.Sprintf("--grow calendar:%v --start %s --step 1d", unit, c.at(0))
	if cal := c.units.Calendar(); cal != calendar.Standard {
		flags += fmt.Sprintf(" --calendar %v", cal)
	}
	return flags
}

// Facts is the change of shape of one array, in JSON.
type Facts struct {
	Path    string       `json:"path"` // relative to the group if several arrays change
	Before  []int64      `json:"shape_before"`
	Shape   []int64      `json:"shape"`
	Sizes   output.Sizes `json:"chunk_sizes,omitempty"` // after the change, as runs of equal sizes
	Files   []input.File `json:"files,omitempty"`
	Notes   []string     `json:"notes,omitempty"`
	*Counts              // with --by

	grid *grid.Grid
}

// ReshapedTo returns the change of an array from the shape before to its present shape.
func ReshapedTo(path string, before []int64, a *zarr.Array) Facts {
	g := a.Grid()
	return Facts{Path: path, Before: before, Shape: a.Shape(), Sizes: output.SizesOf(g), grid: g}
}

// In returns the change with other chunks.
func (f Facts) In(g *grid.Grid) Facts {
	f.Sizes, f.grid = output.SizesOf(g), g
	return f
}

// Tell prints the change of shape of an array.
func (f Facts) Tell(cmd *cobra.Command) error {
	if session.WantsJSON(cmd) {
		f.Notes = append(f.Notes, session.TakeRemarks(cmd)...)
		return session.PrintJSON(cmd, f)
	}
	return f.print(cmd, f.Path)
}

// print prints the change of shape of the array at a location as text. In a dry run it
// also prints the new chunks.
func (f Facts) print(cmd *cobra.Command, location string) error {
	out := cmd.OutOrStdout()
	_, err := fmt.Fprintf(out, "%s  %s → %s\n", phrase.Printable(location), phrase.Shape(f.Before), phrase.Shape(f.Shape))
	// With --by, the shape alone does not say what became of the planes.
	if f.Counts != nil && err == nil {
		_, err = fmt.Fprintf(out, "  %v\n", *f.Counts)
	}
	if session.IsDryRun(cmd) && f.grid != nil && err == nil {
		_, err = fmt.Fprintf(out, "  %-13s %s\n", "chunks", phrase.Chunks(f.grid))
	}
	return err
}

// TellAll prints the changes of shape of arrays of the group at a location, and with --by
// what became of the new planes of each.
func TellAll(cmd *cobra.Command, location string, arrays []Facts, by *Counts) (err error) {
	if session.WantsJSON(cmd) {
		return session.PrintJSON(cmd, struct {
			Path   string   `json:"path"`
			Arrays []Facts  `json:"arrays"`
			Notes  []string `json:"notes,omitempty"` // about the group and its sources
			*Counts
		}{location, arrays, session.TakeRemarks(cmd), by})
	}
	for _, f := range arrays {
		err = errors.Join(err, f.print(cmd, node.Clean(location)+"/"+f.Path))
	}
	if by != nil && err == nil {
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s  %v\n", phrase.Printable(location), *by)
	}
	return err
}
