// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"varve.dev/zarr/cf/calendar"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/likeness"
	"varve.dev/zarr/internal/lineage"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/metadata"
)

// policies decides about the growth policy that is stored with an array (the attribute
// own.Growth) when its grid changes. A policy that contradicts the new grid
// would refuse appends, or cut new elements into chunks of the old lengths.
type policies struct {
	before, after *snapshot.Array
	// keepsCuts is set if the request does not say how elements are to be cut: chunks are
	// merged, or a range is dropped or inserted. Then the policy says how new elements
	// arrive, such as by the day, and later ones are merged as these were.
	keepsCuts bool
	// calendar is the policy that the new chunks follow, such as calendar:year, or "".
	calendar string
	// shift are the edges that the request moves.
	shift shift
}

// edit returns attributes with the policy that fits the new grid, and says what it has
// changed, or "".
func (p *policies) edit(attributes []byte) (edited []byte, note string, err error) {
	raw, found, err := metadata.Attribute(attributes, own.Growth)
	if err != nil || !found {
		return attributes, "", nil // attributes that are null are an error here
	}
	var stored struct {
		Policy string          `json:"policy"`
		Axis   json.RawMessage `json:"axis"`
	}
	if json.Unmarshal(raw, &stored) != nil {
		return attributes, "", nil // appends report it
	}
	axis, ok := axisOf(p.after.Doc, string(stored.Axis))
	if !ok {
		return attributes, "", nil
	}
	policy := p.policyAfter(axis, stored.Policy)
	switch policy {
	// The policy stays, but the times of its calendar may move with the planes.
	case stored.Policy:
		if axis != p.shift.axis {
			return attributes, "", nil
		}
		raw, note, err = p.shift.restart(raw)
		switch {
		case err != nil || note == "":
			return attributes, "", err
		case raw == nil:
			edited, err = metadata.UnsetAttribute(attributes, own.Growth)
		default:
			edited, err = metadata.SetAttribute(attributes, own.Growth, raw)
		}
		return edited, note, err
	case "":
		edited, err = metadata.UnsetAttribute(attributes, own.Growth)
		return edited, fmt.Sprintf("attribute %s, %.80s, is removed: the new chunks do not follow it", own.Growth, stored.Policy), err
	}
	text, err := json.Marshal(policy)
	if err == nil {
		raw, err = metadata.SetAttribute(raw, "policy", text)
	}
	if err == nil {
		edited, err = metadata.SetAttribute(attributes, own.Growth, raw)
	}
	return edited, fmt.Sprintf("attribute %s, %.80s, is now %s, which the new chunks follow", own.Growth, stored.Policy, policy), err
}

// policies returns what becomes of the stored policy by this rechunk.
func (a *subject) policies(was, is *snapshot.Array) (*policies, error) {
	p := &policies{before: was, after: is, keepsCuts: true}
	if r, ok := singleRequest(a.request).(shifter); ok {
		var err error
		if p.shift, err = r.shift(was); err != nil {
			return nil, err
		}
	}
	switch r := singleRequest(a.request).(type) {
	case Regularization:
		p.keepsCuts = false
	case Rechunking:
		p.keepsCuts, p.calendar = false, r.Calendar
	}
	return p, nil
}

// fitPolicy gives the new document the policy that fits it.
func (p *policies) fitPolicy() (note string, err error) {
	edited, note, err := p.edit(p.after.Doc.Attributes)
	if err != nil || note == "" {
		return "", err
	}
	p.after.Doc, err = p.after.Doc.WithAttributes(edited)
	return note, err
}

// axisOf returns the axis that a policy is for: a number or a name. The default is 0.
func axisOf(doc *metadata.Array, text string) (int, bool) {
	text = strings.Trim(text, `"`)
	if text == "" {
		text = "0"
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		n = slices.IndexFunc(doc.DimensionNames, func(name *string) bool { return name != nil && *name == text })
	}
	return n, n >= 0 && n < len(doc.Shape)
}

// policyAfter returns the policy after the change: the same one, another one, or "" for
// none.
func (p *policies) policyAfter(axis int, policy string) string {
	was, is := p.before.Grid.Axis(axis), p.after.Grid.Axis(axis)
	g, err := grid.ParseGrowth(policy)
	byCalendar := errors.Is(err, grid.ErrCalendar)
	switch {
	case err != nil && !byCalendar, // appends report it
		was.Equal(is) && slices.EqualFunc(p.before.Doc.Codecs, p.after.Doc.Codecs, metadata.Extension.Equal),
		!byCalendar && g.KeepsRegular():
		return policy
	case is.IsRegular():
		return "" // chunks of one length follow the extent, whatever a policy says
	case p.keepsCuts:
		if !byCalendar && policyContradicted(was, is, g) {
			return ""
		}
		return policy
	case byCalendar:
		return p.calendar
	case strings.HasPrefix(policy, "fixed:"):
		n := commonLength(is)
		switch {
		case n == 0:
			return ""
		case grid.Fixed(n).String() == g.String():
			return policy
		}
		return grid.Fixed(n).String()
	}
	if policyMakes(is, g) {
		return policy
	}
	return ""
}

// policyContradicted reports whether a policy no longer permits growth that it permitted.
func policyContradicted(was, is grid.Axis, g grid.Growth) bool {
	_, before := was.Grown(was.Extent()+1, g)
	_, after := is.Grown(is.Extent()+1, g)
	return before == nil && after != nil
}

// commonLength returns the length that all chunks of an axis have, except for a shorter
// last one. It returns 0 if they differ, or if there is only one.
func commonLength(a grid.Axis) int64 {
	runs := slices.Collect(a.Edges())
	switch n := a.Cells(); {
	case n < 2, len(runs) > 2:
		return 0
	case len(runs) == 2 && (runs[1].Count > 1 || runs[1].Length > runs[0].Length):
		return 0
	}
	return runs[0].Length
}

// policyMakes reports whether a policy would have cut an axis as it is.
func policyMakes(a grid.Axis, g grid.Growth) bool {
	empty, err := grid.NewAxis(0, grid.Edges())
	if err != nil {
		return false
	}
	would, err := empty.Grown(a.Extent(), g)
	return err == nil && slices.Equal(slices.Collect(would.Edges()), slices.Collect(a.Edges()))
}

// growthOf returns the stored growth policy among attributes, or nil.
func growthOf(attributes []byte) json.RawMessage {
	raw, found, err := metadata.Attribute(attributes, own.Growth)
	var text bytes.Buffer
	if err != nil || !found || json.Compact(&text, raw) != nil {
		return nil
	}
	return text.Bytes()
}

// reverted returns attributes with the growth policy that a reverted rechunking has
// changed, unless it was changed again since. Then it must fit the grid.
func (p *policies) reverted(attributes []byte, last *lineage.Record) ([]byte, error) {
	if !likeness.Same(growthOf(attributes), last.GrowthAfter) {
		edited, _, err := p.edit(attributes)
		if err != nil {
			return nil, err
		}
		return restoreStartAttribute(edited, last.GrowthBefore, last.GrowthAfter)
	}
	switch {
	case likeness.Same(last.GrowthBefore, last.GrowthAfter):
		return attributes, nil
	case last.GrowthBefore == nil:
		return metadata.UnsetAttribute(attributes, own.Growth)
	}
	return metadata.SetAttribute(attributes, own.Growth, last.GrowthBefore)
}

// shift is a move of the edges at the end of an axis, and of all that come after them.
type shift struct {
	axis     int
	elements int64 // elements towards the end
}

// shifter is implemented by requests that move edges of the growth policy.
type shifter interface {
	shift(*snapshot.Array) (shift, error)
}

// shift implements [shifter]. After a range at the end, nothing moves.
func (r Removal) shift(s *snapshot.Array) (shift, error) {
	if r.Range.Stop >= s.Grid.Axis(r.Axis).Extent() {
		return shift{}, nil
	}
	return shift{r.Axis, -r.Range.Len()}, nil
}

// shift implements [shifter]. Planes that a chunk has room for move no edge: they were
// missing in it. Planes at the end move nothing either.
func (r Insertion) shift(s *snapshot.Array) (shift, error) {
	planes, err := r.planes(s)
	if err != nil {
		return shift{}, err
	}
	a := s.Grid.Axis(r.Axis)
	open, hasOpen := a.Cell(a.Chunks() - 1)
	by, within := int64(0), int64(0)
	for _, p := range r.places(planes) {
		if p.At >= a.Extent() {
			continue
		}
		if by += p.Count; hasOpen && p.At > open.Start {
			within += p.Count
		}
	}
	room := min(within, open.Edge-open.Logical)
	return shift{r.Axis, by - (room - room%innerStep(s, r.Axis))}, nil
}

// steppedPolicy is what a stored growth policy says about times that have one step.
type steppedPolicy struct {
	Start    string `json:"start"`
	Step     string `json:"step"`
	Calendar string `json:"calendar"`
}

// restart returns a stored growth policy whose times fit an axis after a shift, and says
// what it has changed, or "". The policy counts months from its start, the time of
// element 0. So the start moves against the edges, which keep their times.
func (s shift) restart(raw []byte) (edited []byte, note string, err error) {
	var t steppedPolicy
	if json.Unmarshal(raw, &t) != nil || t.Start == "" || s.elements == 0 {
		return raw, "", nil // without a start, the times are those of a coordinate
	}
	steps, err := calendar.ParseSteps(t.Start, t.Step, t.Calendar)
	if err != nil {
		return raw, "", nil // appends report it
	}
	moved, err := steps.From(-s.elements)
	var first calendar.Instant
	if err == nil {
		first, err = moved.At(0)
	}
	start := ""
	if err == nil {
		start = moved.Calendar().Text(first)
		_, err = calendar.ParseSteps(start, t.Step, t.Calendar)
	}
	if err != nil {
		return nil, fmt.Sprintf("attribute %s is removed: the times of its calendar would begin too far away", own.Growth), nil
	}
	if !strings.Contains(t.Start, "T") {
		start = strings.TrimSuffix(start, "T00:00:00")
	}
	if edited, err = setStart(raw, start); err != nil {
		return nil, "", err
	}
	return edited, fmt.Sprintf("attribute %s: its start, %.80s, is now %s, so that later elements keep their times", own.Growth, t.Start, start), nil
}

// setStart returns a stored growth policy with another start.
func setStart(raw []byte, start string) ([]byte, error) {
	text, err := json.Marshal(start)
	if err != nil {
		return nil, err
	}
	return metadata.SetAttribute(raw, "start", text)
}

// restoreStart returns a stored growth policy that was changed since the last rechunk,
// with the start that it had before that. A start that was changed since stays.
func restoreStart(now, before, after json.RawMessage) ([]byte, error) {
	var is, was, left steppedPolicy
	if json.Unmarshal(now, &is) != nil || json.Unmarshal(before, &was) != nil || json.Unmarshal(after, &left) != nil {
		return now, nil
	}
	if is.Start == "" || was.Start == "" || is != left || was.Step != left.Step || was.Calendar != left.Calendar {
		return now, nil
	}
	return setStart(now, was.Start)
}

// restoreStartAttribute returns attributes whose stored growth policy has the start
// again that a reverted rechunking has moved.
func restoreStartAttribute(attributes []byte, before, after json.RawMessage) ([]byte, error) {
	now := growthOf(attributes)
	if now == nil || likeness.Same(before, after) {
		return attributes, nil
	}
	raw, err := restoreStart(now, before, after)
	if err != nil {
		return nil, err
	}
	return metadata.SetAttribute(attributes, own.Growth, raw)
}
