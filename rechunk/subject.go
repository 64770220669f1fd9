// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/array"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/failure"
	"varve.dev/zarr/internal/lineage"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/internal/staging"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// subject is the array that a call is about, and what is wanted of it.
type subject struct {
	core    *array.Session
	opened  *zarr.Array
	request Request // nil for none
	copies  bool    // the result is a new array
	adapt   bool    // codecs choose settings for each chunk
	indexed bool    // the request has indices of elements
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

// operationRevert is the operation of a record that [Revert] makes.
const operationRevert = "revert"

// operationFollow is the operation of a claim of an array that follows another one.
const operationFollow = "follow"

// name returns the name of the operation, for errors.
func (a *subject) name() string {
	if a.request == nil {
		return operationRevert
	}
	return a.request.operation()
}

// writable returns an error if the array must not be changed. A new array is made from
// any.
func (a *subject) writable() error {
	if a.copies {
		return nil
	}
	return a.core.Writable()
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

// disturb changes the document, after a claim was taken over. Its holder may
// have been stopped after it had looked at the claim for the last time, and before it
// published: then it looks again.
func (a *subject) disturb(ctx context.Context) error {
	for range mostRounds {
		now, err := a.fresh(ctx)
		if err == nil {
			err = publish.Disturb(ctx, a.core.Node.Node, now.Version)
		}
		switch {
		case errors.Is(err, publish.ErrPending): // its transaction is decided now
			if err := a.core.FinishOthers(ctx); err != nil {
				return err
			}
		// Another writer has changed the document, or there is no other one.
		case errors.Is(err, store.ErrConflict), errors.Is(err, store.ErrUnsupported):
			return nil
		default:
			return err
		}
	}
	return errBusy
}

// lastMove returns the ID of the last rechunk that has moved planes of the array, or
// "".
func (a *subject) lastMove(ctx context.Context, old *snapshot.Array) (string, error) {
	return lineage.Array{Store: a.core.Node.Store, Path: a.core.Node.Path, Limits: a.core.Node.Limits}.LastMove(ctx, old.Doc)
}

// noteMove makes a state know the last rechunk that has moved planes on the way to it.
// The vacuum removes its record, and in a store without locks the note about that would
// look as if it had happened since the state was read: a document is written right
// after its record, and times tell no order of both.
func (a *subject) noteMove(ctx context.Context, old *snapshot.Array) error {
	if !a.core.Node.Fenced() || old.Version.IsZero() {
		return nil
	}
	id, err := a.lastMove(ctx, old)
	if err != nil {
		return err
	}
	// The records were those of the document if it is still the same now: versions never
	// come back.
	now, err := a.fresh(ctx)
	if err == nil && now.Version == old.Version {
		old.KnowMove(id)
		now.KnowMove(id)
	}
	return err
}

// originName names the array that is followed, and its store.
func (a *subject) originName() string {
	return path.Base(store.TraitsOf(a.core.Node.Store).Place) + "/" + a.core.Node.Path.String()
}

// fingerprint identifies the request and, for a new array, its source: chunks of another
// one must not count.
func (a *subject) fingerprint() (string, error) {
	print, err := fingerprint(a.request)
	if a.copies {
		sum := sha256.Sum256([]byte(store.TraitsOf(a.core.Node.Store).Place + " " + a.core.Node.Path.String()))
		print += "-from-" + hex.EncodeToString(sum[:8])
	}
	return print, err
}

// fingerprint identifies a request.
func fingerprint(r Request) (string, error) {
	if c, ok := r.(Compaction); ok {
		c.Calendar = c.Calendar.identity()
		r = c
	}
	raw, err := json.Marshal(r)
	if err != nil {
		return "", err
	}
	return shortHash(append([]byte(r.operation()+" "), raw...)), nil
}

// shortHash returns half of a SHA-256, which identifies a text.
func shortHash(raw []byte) string {
	hash := sha256.Sum256(raw)
	return hex.EncodeToString(hash[:16])
}

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

// checkUnmoved returns an error if planes have moved since the array was opened, and
// with them those that the request means.
func (a *subject) checkUnmoved(ctx context.Context) error {
	if !a.movesPlanes() {
		return nil
	}
	_, err := a.core.Unmoved(ctx)
	return err
}
