// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/directory"
	"varve.dev/zarr/internal/lineage"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/internal/tree"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// destination is the place of a new array.
type destination struct{ node tree.Node }

// newDestination returns the place of an array that is made from the one at from.
func newDestination(from tree.Node, to *zarr.Location) (*destination, error) {
	n, err := to.Core()
	if err != nil {
		return nil, err
	}
	n.Document, n.Limits = from.Document, from.Limits
	switch same, inside, err := destinationRelation(from, n); {
	case err != nil:
		return nil, err
	case same:
		return nil, fmt.Errorf("%w: the destination is the array itself; leave it out to rechunk in place", zarr.ErrInvalidArgument)
	case inside:
		return nil, fmt.Errorf("%w: the destination is within the directory of the array, beside its chunks; choose another place", zarr.ErrInvalidArgument)
	}
	return &destination{n}, nil
}

// destinationRelation reports whether a destination is the array itself, or within its
// directory. Another store may have that directory, too, and links may lead to it.
func destinationRelation(from, to tree.Node) (same, inside bool, err error) {
	if from.Store == to.Store && from.Path == to.Path {
		return true, false, nil
	}
	array, err := store.DirectoriesOf(from.Store).Identify(from.Path)
	if err != nil {
		return false, false, err
	}
	above, err := directory.Above(to.Store, to.Path)
	for i, id := range above {
		if array.Same(id) {
			return i == 0, i > 0, err
		}
	}
	if err != nil {
		return false, false, err
	}
	// The directory of the array may be above the top of the other store. Without a
	// URL, such as for stores in memory, the places cannot be compared. Then the check
	// of the empty place has to do.
	base, err := locationURL(from)
	if err != nil || base == "" {
		return false, false, err
	}
	place, err := locationURL(to)
	return false, strings.HasPrefix(place, base+"/"), err
}

// locationURL returns the URL of a node without symbolic links, or "" if it is not known.
func locationURL(n tree.Node) (string, error) {
	place := store.TraitsOf(n.Store).Place
	path, err := store.DirectoriesOf(n.Store).Resolve(n.Path)
	if place == "" || path.IsRoot() {
		return place, err
	}
	return place + "/" + path.String(), err
}

// errOccupied is the error if the place is not free.
var errOccupied = fmt.Errorf("the destination has something already ("+remedy.Delete+" removes it, or choose another name; "+remedy.Follow+" keeps an array that it has made in step): %w", fs.ErrExist)

// errRivalNode is the error if another program has made a node at the place.
var errRivalNode = fmt.Errorf("another program has made a node here meanwhile: %w", fs.ErrExist)

// create makes the new array. The source may change meanwhile: the result has the
// elements of one moment.
//
//  1. Claim the place, which must be empty, and note that it is unfinished: the note lets
//     it be removed as a node.
//  2. Stage all chunks.
//  3. Compare their records with the source, and stage again what has changed.
//  4. Note in the claim what is published, create the groups above, and publish the
//     document.
//  5. Remove the claim and the note.
func (s *session) create(ctx context.Context) error {
	old, err := s.array.fresh(ctx)
	if err != nil {
		return err
	}
	if err := s.prepare(ctx, old); err != nil {
		return err
	}
	if done, err := s.concludeOther(ctx); done || err != nil {
		return err
	}
	// Each round stages only what writers have changed in the source during the one
	// before.
	for range mostRounds {
		done, err := s.copyOnce(ctx)
		if done || err != nil {
			return err
		}
		s.ledger.report.Again++
	}
	return errAgain
}

// occupy claims the place, or resumes the work of a process with the same request. It
// gives up that of another one whose process has ended.
func (s *session) occupy(ctx context.Context, old *snapshot.Array) error {
	if _, err := s.destination.node.LookAbove(ctx, s.destination.node.Format()); err != nil {
		return err
	}
	print, err := s.array.fingerprint()
	if err != nil {
		return err
	}
	for range mostRounds {
		c, err := s.hold.claimed(ctx, print)
		if err != nil {
			return err
		}
		if c != nil && c.Fingerprint != print && !s.publishOnly && s.hold.mayGiveUp(c) {
			if err := s.giveUp(ctx, c); err != nil {
				return err
			}
			continue
		}
		if c != nil {
			if err := s.resume(ctx, c, print, old.Grid.Rank()); err != nil {
				return err
			}
			return s.destination.note(ctx)
		}
		// In a store without locks, another process with the same plan may claim the
		// place in between. Then what it stores there is no obstacle.
		err = s.take(ctx, old, print)
		if !errors.Is(err, fs.ErrExist) && !errors.Is(err, lineage.ErrClaimed) {
			return err
		}
		if claimed, lookErr := s.hold.at.Claimed(ctx); !claimed || lookErr != nil {
			return errors.Join(err, lookErr)
		}
	}
	return fmt.Errorf("%w: others begin and end all the time", ErrClaimed)
}

// giveUpThere gives up a new array that is not finished.
func (s *session) giveUpThere(ctx context.Context, claim *lineage.Claim) error {
	// A published array stays, and so does a node that another program has made.
	found, err := tree.Format(ctx, s.hold.at.Store, s.hold.at.Path)
	if err == nil && found != 0 {
		err = errOccupied
	}
	if err != nil {
		return err
	}
	ours, err := s.hold.takeToGiveUp(ctx, claim)
	if err == nil {
		err = s.hold.whileRenewing(ctx, ours, func() error {
			return publish.Batch(ctx, s.hold.at.Store, s.hold.durability, func(ctx context.Context, b store.Batch) error {
				return s.hold.unstage(ctx, claim.Keys, claim.Keys, len(claim.Shape), b)
			})
		})
	}
	// The claim goes last: it says whose values these are. The note lets zarr.Delete
	// remove the place as long as there are any.
	if err == nil {
		err = removeOwn(ctx, s.hold.at, claim.ID)
	}
	if err == nil {
		_, err = store.Write(ctx, s.hold.at.Store, store.Delete(s.destination.noteKey()), store.Sync)
	}
	if err != nil {
		return err
	}
	return s.hold.at.Drop(ctx, ours)
}

// take claims the place, which must be free.
func (s *session) take(ctx context.Context, old *snapshot.Array, print string) error {
	if err := s.destination.checkFree(ctx, old.Doc); err != nil {
		return err
	}
	keys, err := s.keysThere(old)
	if err != nil {
		return err
	}
	c := s.hold.newClaim(s.array.request.operation(), keys, print, old)
	if err := s.hold.at.Take(ctx, c, s.hold.durability); err != nil {
		return err
	}
	s.hold.claim, s.ledger.began = c, old.Grid.Shape()
	s.hold.startRenewing(ctx)
	return s.destination.note(ctx)
}

// keysThere returns the keys of the new array: the usual ones, because those of the old
// array may only be the ones that were free when it was rechunked.
func (s *session) keysThere(old *snapshot.Array) (metadata.KeyEncoding, error) {
	t, err := s.array.request.target(old)
	if err != nil {
		return 0, err
	}
	if t != nil && t.keys != nil {
		return *t.keys, nil
	}
	if old.Document().Format() == 2 {
		return metadata.V2Dot, nil
	}
	return metadata.DefaultSlash, nil
}

// checkFree returns an error if anything but the lock of this session is at the place.
func (d *destination) checkFree(ctx context.Context, doc metadata.Node) error {
	for e, err := range store.List(ctx, d.node.Store, d.node.Path, store.Deep) {
		// A store without listings can only be asked for documents.
		if errors.Is(err, store.ErrUnsupported) {
			return d.node.CheckFree(ctx, doc)
		}
		if err != nil {
			return err
		}
		if e.Name != lockName {
			return fmt.Errorf("%w (%s)", errOccupied, e.Name)
		}
	}
	return nil
}

// checkPlace returns an error if the new array cannot be made at the place. A rechunk
// that is not finished there may be resumed.
func (s *session) checkPlace(ctx context.Context, doc metadata.Node) error {
	if _, err := s.destination.node.LookAbove(ctx, s.destination.node.Format()); err != nil {
		return err
	}
	claimed, err := s.hold.at.Claimed(ctx)
	if claimed || err != nil {
		return err
	}
	return s.destination.checkFree(ctx, doc)
}

// note notes that the place is unfinished.
func (d *destination) note(ctx context.Context) error {
	_, err := store.Write(ctx, d.node.Store, store.Put(d.noteKey(), []byte("{}")), store.Flush)
	return err
}

func (d *destination) noteKey() store.Key { return d.node.Path.MustKey(publish.Unfinished) }

// copyOnce stages what is missing, and publishes if the source did not change meanwhile.
func (s *session) copyOnce(ctx context.Context) (done bool, err error) {
	old, err := s.array.fresh(ctx)
	if err != nil {
		return false, err
	}
	w, err := s.work(old)
	if err != nil {
		return false, err
	}
	if err := w.stage(ctx); err != nil {
		return false, err
	}
	if err := w.listAll(ctx); err != nil {
		return false, err
	}
	// No lock excludes writers of the source. The records must have the versions of one
	// listing that began after everything was staged.
	if stale, err := w.stale(); len(stale) > 0 || err != nil {
		return false, err
	}
	// A shrink publishes its document first and deletes chunks afterwards, so the listing
	// above may have some of them. The document tells.
	now, err := s.array.fresh(ctx)
	if err != nil || now.Version != old.Version {
		return false, err
	}
	// Nothing of an array that another program has made here meanwhile is deleted.
	found, err := tree.Format(ctx, s.hold.at.Store, s.hold.at.Path)
	if err == nil && found != 0 {
		err = errRivalNode
	}
	if err != nil {
		return false, err
	}
	if err := w.clear(ctx); err != nil {
		return false, err
	}
	doc := w.draft.planned.Doc
	if s.notesOrigin {
		if doc, err = s.noteOrigin(ctx, w); err != nil {
			return false, err
		}
	}
	return true, s.publishNew(ctx, doc)
}

// publishNew publishes the document of the new array.
func (s *session) publishNew(ctx context.Context, doc *metadata.Array) error {
	raw, beside, err := tree.NewDocuments(doc, s.destination.node.Limits)
	if err != nil {
		return err
	}
	record, err := metadata.Record(doc, s.destination.node.Limits)
	if err != nil {
		return err
	}
	// If this process crashes after Create, the next one compares the stored document
	// with the announced one, and so recognizes its own array.
	if err := s.announce(ctx, raw); err != nil {
		return err
	}
	above, err := s.destination.node.LookAbove(ctx, s.destination.node.Format())
	if err == nil {
		err = s.destination.node.MakeParents(ctx, above)
	}
	if err == nil {
		_, err = publish.Create(ctx, s.destination.node.Node, raw, beside...)
	}
	if errors.Is(err, store.ErrConflict) {
		return errRivalNode
	}
	if err != nil {
		return err
	}
	return s.conclude(ctx, record)
}

// conclude takes the steps after the document is published.
func (s *session) conclude(ctx context.Context, record []byte) error {
	s.ledger.report.Changed = true
	ctx = store.Finishing(ctx)
	err := errors.Join(s.destination.node.RecordMember(ctx, record), removeOwn(ctx, s.hold.at, s.hold.claim.ID))
	_, failed := store.Write(ctx, s.hold.at.Store, store.Delete(s.destination.noteKey()), store.Sync)
	err = errors.Join(err, failed)
	if err == nil {
		err = s.hold.drop(ctx)
	}
	return publish.Incomplete(err)
}

// announce notes in the claim which document is published next.
func (s *session) announce(ctx context.Context, document []byte) error {
	// A renewal would change the version on which the claim is replaced.
	s.hold.stopRenewing(ctx)
	next := *s.hold.claim
	next.Document = hashOf(document)
	err := s.hold.at.Replace(ctx, s.hold.claim, &next, s.hold.durability)
	if err == nil {
		s.hold.claim = &next
		s.hold.startRenewing(ctx)
	}
	return err
}

// hashOf returns the hash of a document without the white space at its end: publishing
// and fences put the IDs of writes there.
func hashOf(document []byte) string {
	sum := sha256.Sum256(bytes.TrimRight(document, " \t\r\n"))
	return hex.EncodeToString(sum[:])
}

// concludeOther concludes the work of a process that crashed after it had published. The
// source may have changed since, so nothing is compared with it. A node that another
// program has made has another document, and is an error.
func (s *session) concludeOther(ctx context.Context) (done bool, err error) {
	there, _, err := s.hold.at.Store.Get(ctx, s.destination.node.Key(), store.Request{Limit: s.destination.node.Limit}, nil)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if s.hold.claim.Document != hashOf(there) {
		return false, errRivalNode
	}
	record, err := s.destination.node.Record(ctx)
	if err != nil {
		return false, err
	}
	return true, s.conclude(ctx, record)
}
