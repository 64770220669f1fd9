// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/array"
	"varve.dev/zarr/internal/dimension"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/failure"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/internal/staging"
	"varve.dev/zarr/metadata"
)

// Do rechunks an array, which must be open for writing. The elements stay as they are,
// except for those that a [Removal] takes out.
//
// If another process rechunks the array, the error wraps [ErrClaimed]. If that process
// has ended, the same request resumes its work, and another request gives its work up.
// If all chunk keys are in use, the error wraps [ErrNoKeys]. If writers publish all the
// time, it wraps [zarr.ErrConflict]. In all these cases nothing has changed for
// readers.
func Do(ctx context.Context, a *zarr.Array, r Request, opt *Options) (*Report, error) {
	s, err := newSession(a, r, opt)
	if err == nil {
		err = s.array.writable()
	}
	if err == nil {
		err = s.hold.exclusively(ctx, s.run)
	}
	return &s.ledger.report, s.array.fail(operationOf(r), err)
}

// session is one call: a rechunk of an array, or another operation on its grids.
type session struct {
	array       *subject
	opt         Options
	destination *destination // nil in place
	hold        *hold
	ledger      *ledger
	publishOnly bool // all stages must be complete already
}

// subject is the array that a call is about, and what is wanted of it.
type subject struct {
	core    *array.Session
	opened  *zarr.Array
	request Request // nil for none
	copies  bool    // the result is a new array
	adapt   bool    // codecs choose settings for each chunk
	indexed bool    // the request has indices of elements
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

// errNoRequest is the error for a request that is nil.
var errNoRequest = fmt.Errorf("%w: the request is nil: give a Compaction, Regularization, Rechunking, Removal or Insertion", zarr.ErrInvalidArgument)

// operationOf returns the name of the operation of a request, for errors.
func operationOf(r Request) string {
	if r == nil {
		return Rechunking{}.operation()
	}
	return r.operation()
}

// name returns the name of the operation, for errors.
func (a *subject) name() string {
	if a.request == nil {
		return operationRevert
	}
	return a.request.operation()
}

// newSessionIn returns a session in place.
func newSessionIn(a *zarr.Array, opt *Options) *session {
	s := &session{array: &subject{core: a.Core().Begin(), opened: a}, opt: opt.orZero(), ledger: new(ledger)}
	s.hold = newHold(s.array.core.Node, s.opt.TakeOver)
	return s
}

// fresh returns the newest state. It is a conflict if the request has indices that mean
// other elements by now.
func (a *subject) fresh(ctx context.Context) (*snapshot.Array, error) {
	if a.indexed {
		return a.core.Unmoved(ctx)
	}
	return a.core.Fresh(ctx)
}

// bind describes the array by another document. change sets fields of the engine that
// differ from those of the array; it may be nil.
func (a *subject) bind(doc *metadata.Array, change func(*engine.Array)) (*snapshot.Array, error) {
	return a.core.Bind(doc, a.adapt, change)
}

// fail adds the operation and the array to an error. Nil stays nil.
func (a *subject) fail(op string, err error) error { return failure.On(a.opened, op, err) }

// checkShared returns an error if arrays of one group would differ in length along a
// dimension with the shapes that after returns.
func checkShared(ctx context.Context, op string, arrays []*zarr.Array, after []func(shape []int64) []int64) error {
	if len(arrays) == 0 {
		return nil
	}
	list, changes := make([]*array.Array, len(arrays)), make([]dimension.Change, len(arrays))
	for i, a := range arrays {
		list[i] = a.Core()
		changes[i] = list[i].Reshaping(after[i])
	}
	at, err := array.CheckShared(ctx, list, changes)
	return failure.On(arrays[at], op, err)
}

// writable returns an error if the array must not be changed. A new array is made from
// any.
func (a *subject) writable() error {
	if a.copies {
		return nil
	}
	return a.core.Writable()
}

// mostRounds bounds how often an array is staged and compared.
const mostRounds = 16

// run stages and publishes.
func (s *session) run(ctx context.Context) error {
	if s.destination != nil {
		return newCreation(s).run(ctx)
	}
	if err := s.array.identify(ctx); err != nil {
		return err
	}
	old, err := s.array.fresh(ctx)
	if err != nil {
		return err
	}
	// An earlier process with this request may have moved the planes. Then nothing is
	// left to do, and the check of the planes must not see their new indices.
	if done, err := s.concludeEarlier(ctx, old); done || err != nil {
		return err
	}
	if err := s.array.checkUnmoved(ctx); err != nil {
		return err
	}
	t, err := s.target(old)
	if err != nil || t == nil {
		return err
	}
	// If the stored chunks fit the new grid, no claim and no free keys are needed.
	if done, err := s.relabel(ctx, old); done || err != nil {
		return err
	}
	if err := s.prepare(ctx, old); err != nil {
		return err
	}
	return s.retry(ctx, s.round)
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

// prepare claims what is staged, or resumes it.
func (s *session) prepare(ctx context.Context, old *snapshot.Array) error {
	// Refuse before a claim is stored: others would have to give it up.
	if err := s.checkRoom(ctx, old); err != nil {
		return err
	}
	if s.publishOnly {
		if err := s.checkBegun(ctx, old); err != nil {
			return err
		}
	}
	if s.destination != nil {
		return newCreation(s).occupy(ctx, old)
	}
	if err := s.checkExpected(ctx, old); err != nil {
		return err
	}
	if err := s.begin(ctx, old); err != nil {
		return err
	}
	return s.confirmPlanes(ctx)
}

// round stages what is missing and tries to publish.
func (s *session) round(ctx context.Context) error {
	if err := s.stageMissing(ctx); err != nil {
		return err
	}
	return newPublication(s).run(ctx)
}

// stageMissing stages what is missing for the present state of the array.
func (s *session) stageMissing(ctx context.Context) error {
	old, err := s.array.fresh(ctx)
	if err != nil {
		return err
	}
	w, err := s.work(old)
	if err != nil || w == nil {
		return err
	}
	if err = w.stage(ctx); err != nil && ctx.Err() == nil {
		return s.array.overtaken(ctx, old, err)
	}
	return err
}

// overtaken returns the error that staging ends with after it has failed with err. If
// another program has published a change meanwhile, a chunk that could not be read may
// belong to the new grid, or to a new array: then the array is staged again (errAgain),
// or the error says what has become of it.
func (a *subject) overtaken(ctx context.Context, old *snapshot.Array, err error) error {
	if errors.Is(err, zarr.ErrConflict) {
		return err
	}
	now, freshErr := a.fresh(ctx)
	switch {
	case freshErr != nil:
		return freshErr
	case now.Version != old.Version:
		return errAgain
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
