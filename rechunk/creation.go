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

	"varve.dev/zarr/internal/lineage"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/internal/tree"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// creation makes a new array of one that may change meanwhile.
type creation struct {
	session *session
	hold    *hold
	to      *destination
}

func newCreation(s *session) *creation { return &creation{s, s.hold, s.destination} }

// run makes the new array. The source may change meanwhile: the result has the
// elements of one moment.
//
//  1. Claim the place, which must be empty, and note that it is unfinished: the note lets
//     it be removed as a node.
//  2. Stage all chunks.
//  3. Compare their records with the source, and stage again what has changed.
//  4. Note in the claim what is published, create the groups above, and publish the
//     document.
//  5. Remove the claim and the note.
func (n *creation) run(ctx context.Context) error {
	if done, err := n.concludeOther(ctx); done || err != nil {
		return err
	}
	// Each round stages only what writers have changed in the source during the one
	// before.
	for range mostRounds {
		done, err := n.copyOnce(ctx)
		if done || err != nil {
			return err
		}
		n.session.ledger.report.Again++
	}
	return errAgain
}

// occupy claims the place, or resumes the work of a process with the same request. It
// gives up that of another one whose process has ended.
func (n *creation) occupy(ctx context.Context, old *snapshot.Array) error {
	if _, err := n.to.node.LookAbove(ctx, n.to.node.Format()); err != nil {
		return err
	}
	print, err := n.session.array.fingerprint()
	if err != nil {
		return err
	}
	for range mostRounds {
		c, err := n.hold.claimed(ctx, print)
		if err != nil {
			return err
		}
		if c != nil && c.Fingerprint != print && !n.session.publishOnly && n.hold.mayGiveUp(c) {
			if err := newAbandonment(n.session).run(ctx, c); err != nil {
				return err
			}
			continue
		}
		if c != nil {
			if err := n.session.resume(ctx, c, print, old.Grid.Rank()); err != nil {
				return err
			}
			return n.to.note(ctx)
		}
		// In a store without locks, another process with the same plan may claim the
		// place in between. Then what it stores there is no obstacle.
		err = n.take(ctx, old, print)
		if !errors.Is(err, fs.ErrExist) && !errors.Is(err, lineage.ErrClaimed) {
			return err
		}
		if claimed, lookErr := n.hold.at.Claimed(ctx); !claimed || lookErr != nil {
			return errors.Join(err, lookErr)
		}
	}
	return fmt.Errorf("%w: others begin and end all the time", ErrClaimed)
}

// take claims the place, which must be free.
func (n *creation) take(ctx context.Context, old *snapshot.Array, print string) error {
	if err := n.to.checkFree(ctx, old.Doc); err != nil {
		return err
	}
	keys, err := n.keys(old)
	if err != nil {
		return err
	}
	c := n.hold.newClaim(n.session.array.request.operation(), keys, print, old)
	if err := n.hold.at.Take(ctx, c, n.hold.durability); err != nil {
		return err
	}
	n.hold.claim, n.session.ledger.began = c, old.Grid.Shape()
	n.hold.startRenewing(ctx)
	return n.to.note(ctx)
}

// keys returns the keys of the new array: the usual ones, because those of the old
// array may only be the ones that were free when it was rechunked.
func (n *creation) keys(old *snapshot.Array) (metadata.KeyEncoding, error) {
	t, err := n.session.array.request.target(old)
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

// checkPlace returns an error if the new array cannot be made at the place. A rechunk
// that is not finished there may be resumed.
func (n *creation) checkPlace(ctx context.Context, doc metadata.Node) error {
	if _, err := n.to.node.LookAbove(ctx, n.to.node.Format()); err != nil {
		return err
	}
	claimed, err := n.hold.at.Claimed(ctx)
	if claimed || err != nil {
		return err
	}
	return n.to.checkFree(ctx, doc)
}

// copyOnce stages what is missing, and publishes if the source did not change meanwhile.
func (n *creation) copyOnce(ctx context.Context) (done bool, err error) {
	old, err := n.session.array.fresh(ctx)
	if err != nil {
		return false, err
	}
	w, err := n.session.work(old)
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
	now, err := n.session.array.fresh(ctx)
	if err != nil || now.Version != old.Version {
		return false, err
	}
	// Nothing of an array that another program has made here meanwhile is deleted.
	found, err := tree.Format(ctx, n.hold.at.Store, n.hold.at.Path)
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
	if n.to.notesOrigin {
		if doc, err = n.noteOrigin(ctx, w); err != nil {
			return false, err
		}
	}
	return true, n.publishNew(ctx, doc)
}

// noteOrigin stores the origin of a new array, before that is published, and returns its
// document.
func (n *creation) noteOrigin(ctx context.Context, w *work) (*metadata.Array, error) {
	r := singleRequest(n.session.array.request).(Rechunking)
	if err := keepWithin(w.stock.sources, w.draft.old.Grid, r.Region); err != nil {
		return nil, err
	}
	doc, err := withOrigin(w.draft.planned.Doc, n.session.array.originName())
	if err != nil {
		return nil, err
	}
	o, err := newOrigin(n.session.array.originName(), w.draft.old, w.stock.sources, doc, n.hold.at.Limits)
	if err != nil {
		return nil, err
	}
	o.head.Region, o.head.Adapt = r.Region, r.Adapt
	if err := o.checkSize(w.opt.memory()); err != nil {
		return nil, err
	}
	if o.head.Codecs, err = codecsAsked(withSums(r, w.draft.old)); err != nil {
		return nil, err
	}
	return doc, putOrigin(ctx, w.hold.at, o, n.session.array.core.Node.Durability)
}

// publishNew publishes the document of the new array.
func (n *creation) publishNew(ctx context.Context, doc *metadata.Array) error {
	raw, beside, err := tree.NewDocuments(doc, n.to.node.Limits)
	if err != nil {
		return err
	}
	record, err := metadata.Record(doc, n.to.node.Limits)
	if err != nil {
		return err
	}
	// If this process crashes after Create, the next one compares the stored document
	// with the announced one, and so recognizes its own array.
	if err := n.announce(ctx, raw); err != nil {
		return err
	}
	above, err := n.to.node.LookAbove(ctx, n.to.node.Format())
	if err == nil {
		err = n.to.node.MakeParents(ctx, above)
	}
	if err == nil {
		_, err = publish.Create(ctx, n.to.node.Node, raw, beside...)
	}
	if errors.Is(err, store.ErrConflict) {
		return errRivalNode
	}
	if err != nil {
		return err
	}
	return n.conclude(ctx, record)
}

// conclude takes the steps after the document is published.
func (n *creation) conclude(ctx context.Context, record []byte) error {
	n.session.ledger.report.Changed = true
	ctx = store.Finishing(ctx)
	err := errors.Join(n.to.node.RecordMember(ctx, record), removeOwn(ctx, n.hold.at, n.hold.claim.ID))
	_, failed := store.Write(ctx, n.hold.at.Store, store.Delete(n.to.noteKey()), store.Sync)
	err = errors.Join(err, failed)
	if err == nil {
		err = n.hold.drop(ctx)
	}
	return publish.Incomplete(err)
}

// announce notes in the claim which document is published next.
func (n *creation) announce(ctx context.Context, document []byte) error {
	// A renewal would change the version on which the claim is replaced.
	n.hold.stopRenewing(ctx)
	next := *n.hold.claim
	next.Document = hashOf(document)
	err := n.hold.at.Replace(ctx, n.hold.claim, &next, n.hold.durability)
	if err == nil {
		n.hold.claim = &next
		n.hold.startRenewing(ctx)
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
func (n *creation) concludeOther(ctx context.Context) (done bool, err error) {
	there, _, err := n.hold.at.Store.Get(ctx, n.to.node.Key(), store.Request{Limit: n.to.node.Limit}, nil)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if n.hold.claim.Document != hashOf(there) {
		return false, errRivalNode
	}
	record, err := n.to.node.Record(ctx)
	if err != nil {
		return false, err
	}
	return true, n.conclude(ctx, record)
}
