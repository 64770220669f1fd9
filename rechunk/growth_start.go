// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"encoding/json"
	"fmt"
	"strings"

	"varve.dev/zarr/cf/calendar"
	"varve.dev/zarr/internal/likeness"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/metadata"
)

// shift is a move of the edges at the end of an axis, and of all that come after them.
type shift struct {
	axis int
	by   int64 // elements towards the end
}

// shifts is implemented by requests that move edges of the growth policy.
type shifts interface {
	shift(*snapshot.Array) (shift, error)
}

// shift implements [shifts]. After a range at the end, nothing moves.
func (r Removal) shift(s *snapshot.Array) (shift, error) {
	if r.Range.Stop >= s.Grid.Axis(r.Axis).Extent() {
		return shift{}, nil
	}
	return shift{r.Axis, -r.Range.Len()}, nil
}

// shift implements [shifts]. Planes that a chunk has room for move no edge: they were
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

// stepped is what a stored growth policy says about times that have one step.
type stepped struct {
	Start    string `json:"start"`
	Step     string `json:"step"`
	Calendar string `json:"calendar"`
}

// restart returns a stored growth policy whose times fit an axis after a shift, and says
// what it has changed, or "". The policy counts months from its start, the time of
// element 0. So the start moves against the edges, which keep their times.
func (s shift) restart(raw []byte) (edited []byte, note string, err error) {
	var t stepped
	if json.Unmarshal(raw, &t) != nil || t.Start == "" || s.by == 0 {
		return raw, "", nil // without a start, the times are those of a coordinate
	}
	steps, err := calendar.ParseSteps(t.Start, t.Step, t.Calendar)
	if err != nil {
		return raw, "", nil // appends report it
	}
	moved, err := steps.From(-s.by)
	start := ""
	if err == nil {
		start = moved.Calendar().Text(moved.Start())
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

// restored returns a stored growth policy that was changed since the last rechunk,
// with the start that it had before that. A start that was changed since stays.
func restored(now, before, after json.RawMessage) ([]byte, error) {
	var is, was, left stepped
	if json.Unmarshal(now, &is) != nil || json.Unmarshal(before, &was) != nil || json.Unmarshal(after, &left) != nil {
		return now, nil
	}
	if is.Start == "" || was.Start == "" || is != left || was.Step != left.Step || was.Calendar != left.Calendar {
		return now, nil
	}
	return setStart(now, was.Start)
}

// revertedStart returns attributes whose stored growth policy has the start again that a
// reverted rechunking has moved.
func revertedStart(attributes []byte, before, after json.RawMessage) ([]byte, error) {
	now := growthOf(attributes)
	if now == nil || likeness.Same(before, after) {
		return attributes, nil
	}
	raw, err := restored(now, before, after)
	if err != nil {
		return nil, err
	}
	return metadata.SetAttribute(attributes, own.Growth, raw)
}
