// SPDX-License-Identifier: Apache-2.0

package growing

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/dryrun"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/growth"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/rechunking"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/rechunk"
)

// arrivals is what append --by remembers from one source to the next.
type arrivals struct {
	counts  growth.Counts
	waiting *growth.Waiting
	refused error // why late planes could not be inserted, or nil
}

func newArrivals(c *growth.Change) *arrivals {
	if c.By == "" {
		return nil
	}
	return &arrivals{waiting: growth.NewWaiting(c.By, growth.On(c.OnDuplicate))}
}

// close closes the sources of late planes.
func (m *arrivals) close() error {
	if m == nil {
		return nil
	}
	return m.waiting.Close()
}

// holds reports whether a gain has to stay open.
func (m *arrivals) holds(g *growth.Gain) bool { return m != nil && m.waiting.Holds(g) }

// hasLate reports whether planes have to be inserted.
func (m *arrivals) hasLate() bool { return m != nil && m.waiting.Len() > 0 }

// result returns the counts, or nil without --by.
func (m *arrivals) result() *growth.Counts {
	if m == nil {
		return nil
	}
	return &m.counts
}

// latecomers are the late planes of a command that appends, and the arrays that get them.
type latecomers struct {
	rechunking.Moving
	*arrivals
	cmd        *cobra.Command
	change     *growth.Change
	location   string              // of the group, or of the array
	list       []*rechunking.Moved // in the order of the gains of a plane
	coordinate int                 // index in list

	late    []growth.Late // that have no cell
	results []*rechunking.Rechunked
}

func newLatecomers(cmd *cobra.Command, c *growth.Change, m *arrivals, location string) *latecomers {
	l := &latecomers{arrivals: m, cmd: cmd, change: c, location: location}
	l.Moving = rechunking.Moving{Alone: c.Alone, Unlock: c.Unlock}
	l.Change = rechunking.Change{Grace: c.Grace, Dry: session.IsDryRun(cmd), SingleWriter: c.SingleWriter}
	return l
}

// add adds an array that grows.
func (l *latecomers) add(name, location string, a *zarr.Array, axis int) {
	if name == l.change.By {
		l.coordinate = len(l.list)
	}
	l.list = append(l.list, &rechunking.Moved{Name: name, Location: location, Array: a, Axis: axis})
}

// insert inserts all late planes by one rechunk. If that is not possible, the counts
// name those that are left out.
//
// A command that was stopped before is repeated: late planes that it has inserted have
// cells then.
func (l *latecomers) insert() error {
	var done growth.Counts
	err := l.refresh()
	if err == nil {
		err = again(l.cmd.Context(), func() (err error) {
			done, err = l.try()
			return err
		}, l.refresh)
	}
	l.counts.Add(done)
	var there *growth.Duplicates
	switch {
	case err == nil || errors.As(err, &there):
		return failure.On(l.cmd.Name(), l.location, err)
	case refused(err):
		l.counts.LeftOut, l.counts.Reason, l.refused = l.waiting.Names(l.late), failure.OneLine(err), err
		return nil
	}
	return failure.Leftover(err, "what comes after the last value is stored, and %s still to be inserted: repeat the command",
		phrase.Plural(int64(l.waiting.Len()), "late value")+" "+phrase.AreOrIs(int64(l.waiting.Len())))
}

// refused reports whether an insertion is not possible, in contrast to one that failed.
func refused(err error) bool {
	return slices.ContainsFunc([]error{zarr.ErrInvalidArgument, zarr.ErrUnsupported, zarr.ErrUnsafeConcurrentWrite, zarr.ErrConflict, rechunk.ErrNoKeys},
		func(kind error) bool { return errors.Is(err, kind) })
}

// refresh brings the arrays up to date. The coordinate comes last: if planes move in
// between, the others notice.
func (l *latecomers) refresh() error {
	for k := range l.list {
		one := l.list[(l.coordinate+1+k)%len(l.list)]
		if err := one.Array.Refresh(l.cmd.Context()); err != nil {
			return err
		}
	}
	return nil
}

// try inserts the planes for which no cell is there now. Other commands may have inserted
// some meanwhile.
func (l *latecomers) try() (c growth.Counts, err error) {
	ctx, w := l.cmd.Context(), l.waiting
	have, err := growth.ReadLabels(ctx, l.list[l.coordinate].Array, l.change.By)
	if err != nil {
		return c, err
	}
	p, err := have.Place(w.Labels(), w.Source(), w.Direction())
	if err != nil {
		return c, err
	}
	for _, j := range p.Appended { // others have removed what came after them
		p.Late = append(p.Late, growth.Late{Plane: j, Before: have.Len()})
	}
	l.late = p.Late
	targets := make([]growth.Target, len(l.list))
	for k, one := range l.list {
		shape := one.Array.Shape()
		if n := shape[one.Axis]; n != have.Len() {
			return c, failure.OfKind(zarr.ErrConflict, "%s has %s, %s has %d", one.Location, phrase.Plural(n, "plane"), l.change.By, have.Len())
		}
		targets[k] = growth.Target{Array: one.Array, Axis: one.Axis, More: w.Gain(k, shape, one.Axis)}
	}
	if c, err = growth.Merge(l.cmd, have, p.Present, w.Source(), targets, growth.On(l.change.OnDuplicate)); err != nil || len(p.Late) == 0 {
		return c, err
	}
	places, planes := placesOf(p.Late)
	for k, one := range l.list {
		shape := one.Array.Shape()
		some := targets[k].More.SelectPlanes(planes, shape, one.Axis)
		one.Wanted = rechunk.Insertion{Axis: one.Axis, Places: places, From: some.Source(), Words: some.Words(), Expect: have.Len(), Unlock: l.Unlock}
	}
	opt, err := l.Options()
	if err == nil {
		l.results, err = l.Together(l.cmd, l.location, l.list, opt)
	}
	for _, r := range l.results {
		if err == nil && l.Dry {
			err = r.Plan.Blocked // the command would leave the planes out
		}
	}
	if err == nil {
		c.Inserted = int64(len(p.Late))
		l.plan()
	}
	return c, err
}

// plan adds the insertion to the plan of a dry run, which only has what is appended.
func (l *latecomers) plan() {
	var parts []dryrun.Part
	for _, r := range l.results {
		if r.Changed {
			parts = append(parts, dryrun.Part{Head: r.Head, Counts: r.Counts})
		}
	}
	dryrun.Append(l.cmd, parts...)
}

// placesOf returns the places of late planes, and the planes in their order.
func placesOf(late []growth.Late) (places []rechunk.Place, planes []int64) {
	for _, j := range late {
		if n := len(places) - 1; n < 0 || places[n].At != j.Before {
			places = append(places, rechunk.Place{At: j.Before})
		}
		places[len(places)-1].Count++
		planes = append(planes, j.Plane)
	}
	return places, planes
}

// update changes what is told about an array: it has become longer.
func (l *latecomers) update(k int, f growth.Facts) growth.Facts {
	if l.results == nil {
		return f
	}
	one, notes, files := l.list[k], f.Notes, f.Files
	if l.Dry {
		f.Shape = slices.Clone(f.Shape)
		f.Shape[one.Axis] += l.counts.Inserted
		return f.In(l.results[k].Plan.Grid)
	}
	if one.Array.Refresh(l.cmd.Context()) != nil {
		return f // the insertion succeeded, even if the array cannot be read again
	}
	f = growth.ReshapedTo(f.Path, f.Before, one.Array)
	f.Notes, f.Files, f.Counts = notes, files, nil
	return f
}

// mostNamed bounds the late values that a message names.
const mostNamed = 8

// leftOut returns an error if late planes could not be inserted.
func (m *arrivals) leftOut(cmd *cobra.Command, location string) error {
	if m == nil || len(m.counts.LeftOut) == 0 {
		return nil
	}
	names := m.counts.LeftOut
	text := strings.Join(names[:min(mostNamed, len(names))], ", ")
	if more := len(names) - mostNamed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	belong := "belong"
	if len(names) == 1 {
		belong = "belongs"
	}
	could := "could not be inserted (%s), and all others are stored"
	if session.IsDryRun(cmd) {
		could = "could not be inserted (%s); all others would be stored"
	}
	return failure.OfKind(m.refused, "%s %s: %s that %s between others "+could+": %s", cmd.Name(), node.Clean(location),
		phrase.Plural(int64(len(names)), "late value"), belong, text, m.counts.Reason)
}
