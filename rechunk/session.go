// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/internal/staging"
)

// session is one call: a rechunk of an array, or another operation on its grids.
type session struct {
	array       *subject
	opt         Options
	destination *destination // nil in place
	hold        *hold
	ledger      *ledger
	publishOnly bool // all stages must be complete already
}

// ledger is what a call has done so far, whatever states of the array it has worked for.
type ledger struct {
	began  []int64 // the shape of the array when the rechunk began, or nil
	serial bool    // a task needs so much memory that only one may run

	mu      sync.Mutex // guards what follows
	records []staging.Record
	report  Report
}

// newSession returns a session with an error about the destination, if any.
func newSession(a *zarr.Array, r Request, opt *Options) (*session, error) {
	s := newSessionIn(a, opt)
	if r == nil {
		return s, errNoRequest
	}
	if k, ok := r.(Rechunking); ok && k.Adapt {
		s.array.adapt = true
	}
	if k, ok := r.(Rechunking); ok && k.Region != nil && s.opt.Into == nil {
		return s, fmt.Errorf("%w: a region becomes a new array "+remedy.IntoPlace, zarr.ErrInvalidArgument)
	}
	if s.array.request = r; s.opt.Into == nil {
		return s, nil
	}
	if k, ok := r.(Rechunking); ok && k.Region != nil {
		s.array.indexed = true // the region means elements of the array as it was opened
	}
	if s.opt.Grace != 0 {
		return s, fmt.Errorf("%w: a new array supersedes no grid: "+remedy.LeaveOutInto+", or "+remedy.Grace, zarr.ErrInvalidArgument)
	}
	if s.array.movesPlanes() {
		return s, fmt.Errorf("%w: copy the array first, and drop or insert there", zarr.ErrUnsupported)
	}
	var err error
	if s.destination, err = newDestination(s.array.core.Node, s.opt.Into); err == nil {
		s.array.copies = true
		s.hold.at.Store, s.hold.at.Path = s.destination.node.Store, s.destination.node.Path
	}
	return s, err
}

// newSessionIn returns a session in place.
func newSessionIn(a *zarr.Array, opt *Options) *session {
	s := &session{array: &subject{core: a.Core().Begin(), opened: a}, opt: opt.orZero(), ledger: new(ledger)}
	s.hold = newHold(s.array.core.Node, s.opt.TakeOver)
	return s
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

// retry calls try until writers do not get in its way.
func (s *session) retry(ctx context.Context, try func(context.Context) error) (err error) {
	for range mostRounds {
		if err = try(ctx); !errors.Is(err, errAgain) {
			break
		}
		s.ledger.report.Again++
	}
	return err
}

// Report says what a rechunk has done.
type Report struct {
	// Changed is false if the array had the wanted grid already.
	Changed bool
	// Staged counts the chunks that were stored, also those that were staged again
	// because their sources had changed.
	Staged Counts
	// Freed is how many bytes of superseded grids were deleted first, see
	// [Options.Grace].
	Freed int64
	// Again is how often the array had to be compared again because of other writers.
	Again int
	// Policy says how the stored growth policy (own.Growth) has changed,
	// because the new grid contradicts it. It is "" if it has not.
	Policy string
	// Strategy is how [Follow] has published: that of [NewFollowPlan]. After [Do], it is
	// "".
	Strategy string
}

// String says in one line how many chunks were stored, and how.
func (r *Report) String() string {
	if !r.Changed {
		return "nothing has changed: the array has the wanted chunks"
	}
	text := quantity.List(append(r.Staged.texts(), quantity.SomeBytes(r.Freed, "freed"))...)
	if text == "" {
		text = "only the metadata has changed"
	}
	if r.Policy != "" {
		text += "; " + r.Policy
	}
	return text
}

// Counts are what was staged.
type Counts struct {
	Cloned, Arranged, Encoded int64 // chunks of the new grid that are stored; see [Plan]
	Dropped                   int64 // chunks of the new grid that have only the fill value
	BytesCopied               int64 // of encoded chunks, without decoding
	BytesLinked               int64 // of encoded chunks that share their bytes with the old ones
	BytesDecoded              int64 // of elements that were decoded
	BytesEncoded              int64 // of elements that were encoded, before compression
	Scratch, BytesScratch     int64 // objects between stages, and their bytes
}

// texts says what was staged, and how many bytes. Elements that are "" count nothing.
func (c Counts) texts() []string {
	return []string{
		quantity.Some(c.Cloned, "chunk", "copied"), quantity.Some(c.Arranged, "chunk", "put together"),
		quantity.Some(c.Encoded, "chunk", "encoded"), quantity.Some(c.Dropped, "chunk", "left out"),
		quantity.SomeBytes(c.BytesCopied, "copied"), quantity.SomeBytes(c.BytesDecoded, "decoded"),
	}
}

// include adds o to c.
func (c *Counts) include(o Counts) {
	sum := staging.Counts(*c)
	sum.Add(staging.Counts(o))
	*c = Counts(sum)
}
