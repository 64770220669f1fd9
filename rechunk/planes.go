// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/internal/staging"
)

// planeMover is a request after which planes have other indices. Executed a second time,
// it would move other planes, whereas all other requests would change nothing.
type planeMover interface {
	Request
	// planesAt returns the axis of the planes, and the extent that it must have in the
	// beginning, or 0.
	planesAt() (axis int, expect int64)
}

// movesPlanes reports whether the request moves planes.
func (a *subject) movesPlanes() bool {
	_, is := singleRequest(a.request).(planeMover)
	return is
}

// identify finds out what a request that moves planes is about. It also completes a
// transaction that a crashed writer has left, because that tells whether the request was
// done already.
func (a *subject) identify(ctx context.Context) error {
	if !a.movesPlanes() {
		return nil
	}
	// A plan may be made of an array that is not open for writing.
	if a.core.Writable() == nil {
		if err := a.core.FinishOthers(ctx); err != nil {
			return err
		}
	}
	r, is := a.request.(Insertion)
	if !is || r.Identity != "" {
		return nil
	}
	old, err := a.fresh(ctx)
	if err != nil {
		return err
	}
	planes, err := r.planes(old)
	if err != nil {
		return err
	}
	if r.Words != nil {
		r.Identity = identityOfWords(r.Words, planes)
	} else {
		r.Identity, err = identityOf(ctx, r.From, int64(old.Engine.Size))
	}
	a.request = r
	return err
}

// hashedBytes is the size of the parts in which elements are hashed.
const hashedBytes = 8 << 20

// identityOf returns a hash of the shape and the elements of a source.
func identityOf(ctx context.Context, src *zarr.Source, size int64) (string, error) {
	h := sha256.New()
	fmt.Fprint(h, src.Shape)
	room := make([]byte, 0, hashedBytes)
	var err error
	staging.Halves(grid.BoxOf(src.Shape), max(1, hashedBytes/size), func(box grid.Box) bool {
		n, _ := box.Len()
		if n *= size; n > int64(cap(room)) {
			room = make([]byte, 0, n)
		}
		if err = ctx.Err(); err == nil && n > 0 {
			err = src.Read(ctx, slices.Clone(box), room[:n])
		}
		h.Write(room[:n])
		return err == nil
	})
	if err != nil {
		return "", fmt.Errorf("read the elements to insert: %w", err)
	}
	return hex.EncodeToString(h.Sum(nil)[:16]), nil
}

// identityOfWords returns a hash of words, which make so many planes.
func identityOfWords(words [][]byte, planes int64) string {
	h := sha256.New()
	fmt.Fprint(h, planes, len(words))
	var length []byte
	for _, w := range words {
		length = binary.AppendUvarint(length[:0], uint64(len(w)))
		h.Write(length)
		h.Write(w)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// errShort is the conflict of a request whose planes the array no longer has.
var errShort error = final("the array has become too short meanwhile; give this rechunk up (" + remedy.Abandon + "), or grow the array again")

// checkUnmoved returns an error if planes have moved since the array was opened, and
// with them those that the request means.
func (a *subject) checkUnmoved(ctx context.Context) error {
	if !a.movesPlanes() {
		return nil
	}
	_, err := a.core.Unmoved(ctx)
	return err
}

// confirmPlanes is unmoved once the array is claimed. From then on planes cannot move.
func (s *session) confirmPlanes(ctx context.Context) error {
	err := s.array.checkUnmoved(ctx)
	if err != nil {
		err = errors.Join(err, s.releaseUnstaged(ctx))
	}
	return err
}

// checkExpected returns an error if the array has another extent than the request
// expects. A request that is resumed has begun when it had that extent.
func (s *session) checkExpected(ctx context.Context, old *snapshot.Array) error {
	m, is := singleRequest(s.array.request).(planeMover)
	if !is {
		return nil
	}
	axis, expect := m.planesAt()
	// The array may have grown since the request that is resumed has begun.
	if c, err := s.resumed(ctx); expect == 0 || c != nil || err != nil {
		return err
	}
	if n := old.Grid.Axis(axis).Extent(); n != expect {
		return &grid.AxisError{Axis: axis, Err: fmt.Errorf("%w; it has %s, not %d", errUnexpected, quantity.Count(n, "planes"), expect)}
	}
	return nil
}

// errUnexpected is the conflict of a request that expects another extent.
var errUnexpected error = final("the axis is not as expected")

// releaseUnstaged drops the claim if nothing is staged.
func (s *session) releaseUnstaged(ctx context.Context) error {
	if s.hold.claim == nil || s.ledger.records != nil {
		return nil
	}
	return s.hold.drop(ctx)
}

// target returns what the request makes of the array. If that was possible when the array
// was claimed and is not now, the error is a conflict.
func (s *session) target(old *snapshot.Array) (*target, error) {
	t, err := s.array.request.target(old)
	// Publishing tries again on some conflicts. This one is final: the array stays too
	// short.
	if s.hold.claim != nil && errors.As(err, new(noPlanes)) {
		err = fmt.Errorf("%w: %v", errShort, err)
	}
	return t, err
}

// concludeEarlier takes the steps that a process has not taken because it crashed after
// it had published the array. If its request was this one, and moves planes, wasDone
// reports that nothing is left to do: to do it again would move other planes.
func (s *session) concludeEarlier(ctx context.Context, old *snapshot.Array) (done bool, err error) {
	if s.array.movesPlanes() {
		if done, err = s.publishedEarlier(ctx, old); err != nil {
			return false, err
		}
	}
	s.ledger.report.Changed = done
	return done, s.hold.completePublished(ctx, old)
}

// publishedEarlier reports whether a process has published this request and has not
// taken the steps after that.
func (s *session) publishedEarlier(ctx context.Context, old *snapshot.Array) (bool, error) {
	print, err := s.array.fingerprint()
	if err != nil {
		return false, err
	}
	c, err := s.hold.claimed(ctx, print)
	return err == nil && c != nil && c.Fingerprint == print && sameKeys(c.Keys, old.Engine.Keys, old.Grid.Rank()) && s.hold.mayResume(c), err
}

// checkAxis returns an error if the array has no such axis.
func checkAxis(s *snapshot.Array, i int) error {
	if i >= 0 && i < s.Grid.Rank() {
		return nil
	}
	return fmt.Errorf("%w: axis %d of an array with %s", zarr.ErrInvalidArgument, i, quantity.Count(s.Grid.Rank(), "axes"))
}

// mostSmall is how many bytes the elements of a small array take at most: all of them are
// encoded anew so that the array stays regular.
const mostSmall = 16 << 20

// regularAxis returns a regular axis along which planes move, with its new extent. The
// axis stays regular if only whole chunks move, or if the array is small. Then programs
// that know only regular grids can still read it. The caller may ask for listed edges. A
// coordinate gets none, because these programs can read no array of the group without it.
func regularAxis(s *snapshot.Array, i int, extent int64, whole, unlock bool) (is grid.Axis, stays bool, err error) {
	a := s.Grid.Axis(i)
	if !a.IsRegular() {
		return a, false, nil
	}
	size := int64(s.Engine.Size)
	if s.Type.Variable() {
		size = 16 // about
	}
	bytes, fits := checked.Product(append(s.Grid.Shape(), size)...)
	small := fits && bytes <= mostSmall
	if unlock && !(small && isCoordinate(s)) || !whole && !small {
		return a, false, nil
	}
	is, err = grid.NewAxis(extent, grid.Every(a.Step()))
	return is, true, err
}

// isCoordinate reports whether an array is the coordinate of its dimension.
func isCoordinate(s *snapshot.Array) bool {
	names := s.DimensionNames()
	return len(names) == 1 && names[0] != "" && names[0] == s.Engine.Path.Name()
}

// unlockedAxis returns an axis along which planes move, with listed edges.
func unlockedAxis(s *snapshot.Array, i int, unlock bool) (grid.Axis, error) {
	if err := checkAxis(s, i); err != nil {
		return grid.Axis{}, err
	}
	a := s.Grid.Axis(i)
	switch {
	case s.Doc.Format() == 2:
		return a, &grid.AxisError{Axis: i, Err: fmt.Errorf("%w: all chunks of an array of format 2 have one shape; convert it to format 3 first ("+remedy.Convert+")", zarr.ErrUnsupported)}
	case a.IsRegular() && !unlock:
		return a, &grid.AxisError{Axis: i, Err: fmt.Errorf("%w: its chunks are regular, and would be no longer unless only whole chunks of %d move: "+remedy.Unlock+", which not all programs can read", zarr.ErrInvalidArgument, a.Step())}
	}
	is, err := a.Unlocked()
	if err != nil {
		return a, &grid.AxisError{Axis: i, Err: err}
	}
	return is, nil
}

// targetWithAxis returns the array with another axis, which may have another extent.
func targetWithAxis(s *snapshot.Array, axis int, is grid.Axis) (*target, error) {
	g, err := withAxis(s.Grid, axis, is)
	if err != nil {
		return nil, err
	}
	doc, err := recutTo(s, g)
	return &target{doc: doc, grid: g}, err
}

// appendClipped appends the edges of an axis between two places to runs. Edges that lie
// across a place are cut there.
func appendClipped(runs []grid.Run, a grid.Axis, from, to int64) []grid.Run {
	add := func(length, count int64) {
		if length < 1 || count < 1 {
			return
		}
		if n := len(runs) - 1; n >= 0 && runs[n].Length == length {
			runs[n].Count += count
			return
		}
		runs = append(runs, grid.Run{Length: length, Count: count})
	}
	// Runs are cut in one step each: an axis may have millions of equal chunks.
	start := int64(0)
	for r := range a.Edges() {
		stop := start + r.Length*r.Count
		low, high := max(from, start), min(to, stop)
		if low < high {
			if within := (low - start) % r.Length; within > 0 {
				n := min(r.Length-within, high-low)
				add(n, 1)
				low += n
			}
			add(r.Length, (high-low)/r.Length)
			add((high-low)%r.Length, 1)
		}
		start = stop
	}
	return runs
}

// roundLastUp rounds the last edge up to whole inner chunks, if that is the last of the
// axis: it may reach beyond the extent.
func roundLastUp(runs []grid.Run, unit int64, isLast bool) []grid.Run {
	if len(runs) == 0 || !isLast {
		return runs
	}
	last := &runs[len(runs)-1]
	more := (unit - last.Length%unit) % unit
	if more == 0 {
		return runs
	}
	length := last.Length + more
	if last.Count--; last.Count == 0 {
		runs = runs[:len(runs)-1]
	}
	return append(runs, grid.Run{Length: length, Count: 1})
}

// innerStep returns the length of inner chunks along an axis, or 1 if there are none of
// one length.
func innerStep(s *snapshot.Array, i int) int64 {
	if inner := s.Engine.Chain.Inner(); inner != nil {
		if a, err := grid.NewAxis(0, inner[i]); err == nil && a.Step() > 0 {
			return a.Step()
		}
	}
	return 1
}

// fitsShards returns an error if shards do not consist of whole inner chunks.
func fitsShards(s *snapshot.Array, t *target) error {
	if !s.Engine.Chain.Divided() {
		return nil
	}
	return s.Engine.Chain.CheckGrid(t.grid)
}

// cutPlaces returns the nearest places to a plane at which shards can be cut.
func cutPlaces(a grid.Axis, plane, unit int64) string {
	k, within, ok := a.Locate(plane)
	if !ok || within%unit == 0 {
		return strconv.FormatInt(plane, 10)
	}
	c, _ := a.Cell(k)
	low := plane - within%unit
	high := min(low+unit, c.Start+c.Logical)
	return fmt.Sprintf("%d or %d", low, high)
}
