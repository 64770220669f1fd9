// SPDX-License-Identifier: Apache-2.0

package growth

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cf/calendar"
	"varve.dev/zarr/cmd/varve/internal/argument"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/rewrite"
)

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
	raw, found, err := metadata.Attribute(a.Attributes(), rewrite.GrowthAttribute)
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
		"remove it (varve attrs %s unset %s), or give --grow", zarr.ErrInvalidMetadata, rewrite.GrowthAttribute, m.why, m.location, rewrite.GrowthAttribute, m.location, rewrite.GrowthAttribute)
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
	p.tell = func(text string) {
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
			c.depart(cmd, s, location)
		}
		return p, c.times, nil
	}
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

// depart prints that --grow differs from the stored policy.
func (c *Change) depart(cmd *cobra.Command, s Stored, location string) {
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
		return failure.BadUsage("attribute %s: %s", rewrite.GrowthAttribute, m.why)
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
