// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

const mostJournal = 256 << 20 // bytes

// journal records a transaction. It is stored beside the first node under a unique name.
type journal struct {
	Aborted bool           `json:"aborted,omitempty"` // rolled back: nothing was published, and nothing will be
	Parts   []journalEntry `json:"parts,omitempty"`

	node Node
	key  store.Key
	old  Document // of the first node
}

// journalEntry is the change of one node.
type journalEntry struct {
	Path     string `json:"path"`           // relative to the node that has the journal, such as ../t2m
	Name     string `json:"name,omitempty"` // of the document; "" means zarr.json
	Was      string `json:"was"`            // digest of the document that was planned on
	Document string `json:"document"`
	Sum      string `json:"sum"` // of all this: what is damaged must not be carried out

	path store.Path
}

func newJournal(n Node, id string) (*journal, error) {
	at, err := store.Resolve(n.Store, n.Path)
	return &journal{node: n, key: at.MustKey(journalPrefix + id + journalSuffix)}, err
}

// pointer returns the pointer to j that is stored beside n. It is relative to the place
// of n after symbolic links are resolved. Readers resolve links as well, so the pointer
// is valid through every link.
func (j *journal) pointer(n Node) (pointerFile, error) {
	at, err := store.Resolve(n.Store, n.Path)
	return pointerFile{Journal: relative(at, j.key.String())}, err
}

func (j *journal) add(m *member) {
	at := relative(j.home(), m.node.Path.String())
	name := m.node.Document
	if name == metadata.V3Node {
		name = ""
	}
	p := journalEntry{Path: at, Name: name, Was: digest(m.old.Bytes), Document: string(m.change.Document), path: m.node.Path}
	p.Sum = p.sum()
	if len(j.Parts) == 0 {
		j.old = m.old
	}
	j.Parts = append(j.Parts, p)
}

// id returns the ID of the writes that publish the documents of the journal. All
// recoveries use it.
func (j *journal) id() writeID { return idOf([]byte(j.key.Base())) }

// sum returns the sum of an entry.
func (p *journalEntry) sum() string {
	h := sha256.New()
	for _, text := range [...]string{p.Path, p.Name, p.Was, p.Document} {
		fmt.Fprintf(h, "%d:%s", len(text), text)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// home returns the path of the node that has the journal.
func (j *journal) home() store.Path { return j.key.Dir().Parent() }

// digest identifies a document regardless of the white space at its end: a fence and a
// warning change it between the plan and the journal.
func digest(document []byte) string {
	sum := sha256.Sum256(body(document))
	return hex.EncodeToString(sum[:])
}

// at returns the node of a part of a journal.
func (n Node) at(p journalEntry) Node {
	if n.Path, n.Document = p.path, p.Name; p.Name == "" {
		n.Document = metadata.V3Node
	}
	return n
}

// CheckPending returns [ErrPending] if the node belongs to an unfinished transaction
// whose journal is not the given one. The documents of such nodes may not match. The
// zero Key stands for no journal.
func CheckPending(ctx context.Context, n Node, journal store.Key) error {
	key, _, err := n.journal(ctx)
	if err == nil && !key.IsZero() && key != journal {
		err = ErrPending
	}
	return err
}

// write stores the journal, which commits the transaction. If the answer is lost, it
// finds the outcome in the store.
func (j *journal) write(ctx context.Context) error {
	data, err := json.Marshal(j)
	if err != nil {
		return err
	}
	// A journal that is too long for recovery would block its nodes for ever.
	if len(data) > mostJournal {
		return fmt.Errorf("%w: a journal of %d bytes, at most %d are allowed; change fewer nodes at a time", store.ErrTooLarge, len(data), mostJournal)
	}
	if _, err = j.node.putIf(ctx, j.key, data, store.IfAbsent()); err == nil || unwritten(err) && !errors.Is(err, store.ErrConflict) {
		return err
	}
	there, lookErr := j.node.readJournal(context.WithoutCancel(ctx), j.key)
	switch {
	case lookErr == nil && !there.Aborted:
		// The journal is stored: committed.
		return nil
	case lookErr == nil:
		// A concurrent recovery stored an aborted journal under this key.
		return errors.Join(store.ErrConflict, err)
	case errors.Is(lookErr, fs.ErrNotExist):
		// The write may still be in flight. An aborted journal makes it fail.
		if j.node.abort(store.Finishing(ctx), j.key) == nil {
			return j.missed(context.WithoutCancel(ctx), err)
		}
	}
	return unknown(err)
}

// missed finds the outcome if an answer to the write of the journal is no success, and
// the journal does not exist and never will. A concurrent recovery may have found it,
// published its documents and deleted it, or stored an aborted one and deleted that. The
// first document tells.
func (j *journal) missed(ctx context.Context, failed error) error {
	n := j.node.at(j.Parts[0])
	now, err := n.read(ctx)
	if err != nil {
		return unknown(failed, err)
	}
	if !n.trails() {
		// There is no concurrent writer, so only a recovery publishes.
		if digest(now.Bytes) == j.Parts[0].Was {
			return failed
		}
		return nil
	}
	switch trailOf(now.Bytes).fateOf(j.id(), trailOf(j.old.Bytes).last()) {
	case carried:
		return nil
	case untold:
		return unknown(failed)
	}
	return failed
}

// abort makes sure that a journal is never stored.
func (n Node) abort(ctx context.Context, key store.Key) error {
	data, err := json.Marshal(journal{Aborted: true})
	if err != nil {
		return err
	}
	_, err = n.putIf(ctx, key, data, store.IfAbsent())
	// The writer stored its journal first, so the transaction is committed.
	if errors.Is(err, store.ErrConflict) {
		return ErrPending
	}
	return err
}

func (n Node) readJournal(ctx context.Context, key store.Key) (*journal, error) {
	data, _, err := n.Store.Get(ctx, key, store.Request{Limit: mostJournal}, nil)
	if err != nil {
		return nil, err
	}
	j := &journal{node: n, key: key}
	err = json.Unmarshal(data, j)
	if err == nil && !j.Aborted {
		err = j.check()
	}
	switch {
	case errors.Is(err, metadata.ErrInvalid):
		return nil, err
	case err != nil:
		return nil, damaged(key, err)
	}
	return j, nil
}

// check refuses a journal that no version of Varve writes: one that names a node twice,
// does not name the node whose pointer led to it, or is not beside its first node.
func (j *journal) check() error {
	found := false
	for i := range j.Parts {
		p := &j.Parts[i]
		place, err := resolve(j.home(), p.Path)
		if err != nil {
			return outside(j.key, err)
		}
		if p.path, err = store.ParsePath(place); err != nil {
			return err
		}
		if p.Name != "" && p.Name != metadata.V2Array {
			return fmt.Errorf("its node %q has a document %q", p.path, p.Name)
		}
		if p.Sum != p.sum() {
			return fmt.Errorf("its entry of node %q is not the one that was written", p.path)
		}
		found = found || j.same(p.path, j.node.Path)
		// Recovery locks the nodes in this order. Another order could deadlock.
		if i > 0 && p.path.String() <= j.Parts[i-1].path.String() {
			return fmt.Errorf("its nodes %q and %q are not in order", j.Parts[i-1].path, p.path)
		}
	}
	// A pointer that was copied by hand, or forged, names a journal of other nodes.
	// To replay it would change nodes that do not point to it.
	if !found || !j.same(j.home(), j.Parts[0].path) {
		return fmt.Errorf("it does not belong to node %q", j.node.Path)
	}
	return nil
}

// same reports whether two paths lead to the same node, perhaps through links.
func (j *journal) same(a, b store.Path) bool {
	same, err := store.SameDirectory(j.node.Store, a, b)
	return same && err == nil
}

// isNamedBy reports whether the pointer of n names the journal. Otherwise the node was
// replaced, or a recovery has finished the transaction.
func (j *journal) isNamedBy(ctx context.Context, n Node) (bool, error) {
	key, _, err := n.journal(ctx)
	return key == j.key, err
}

// publishTries is the number of attempts to write a committed document, after lost
// answers or conflicts with a concurrent recovery.
const publishTries = 8

// publish writes the document of one part. If a concurrent recovery has written it, the
// version is zero.
func (j *journal) publish(ctx context.Context, n Node, p journalEntry) (store.Version, error) {
	var failed error
	for range publishTries {
		now, err := n.read(ctx)
		if errors.Is(err, fs.ErrNotExist) {
			// A concurrent writer removed the node.
			return store.Version{}, nil
		}
		if err != nil {
			return store.Version{}, err
		}
		// A recovery published it, and it may have changed again after that.
		if digest(now.Bytes) != p.Was {
			return store.Version{}, nil
		}
		// The document is the one that was planned on. But a recovery may have
		// finished, and a later change may have restored that document. Neither
		// has happened while the pointer names this journal.
		if ours, err := j.isNamedBy(ctx, n); err != nil || !ours {
			return store.Version{}, err
		}
		version, err := n.putIf(ctx, n.key(), j.document(n, p, now), store.IfVersion(now.Version))
		if err == nil {
			return version, nil
		}
		if errors.Is(err, store.ErrLocked) || errors.Is(err, context.Canceled) {
			return store.Version{}, err // the wait for the lock has ended
		}
		failed = err
	}
	return store.Version{}, failed
}

// document returns the document of a part that replaces the present one.
func (j *journal) document(n Node, p journalEntry, now Document) []byte {
	if !n.trails() {
		return []byte(p.Document)
	}
	return published([]byte(p.Document), now.Bytes, j.id())
}

// nodes returns the nodes of the transaction.
func (j *journal) nodes() []Node {
	nodes := make([]Node, len(j.Parts))
	for i, p := range j.Parts {
		nodes[i] = j.node.at(p)
	}
	return nodes
}

// pointing returns the nodes whose pointers name the journal. A concurrent recovery
// finished the others, or they were replaced and may have a transaction of their own.
// Finishing that one would need a lock that this call holds.
func (j *journal) pointing(ctx context.Context) (nodes []Node, err error) {
	for _, n := range j.nodes() {
		ours, err := j.isNamedBy(ctx, n)
		if err != nil {
			return nil, err
		}
		if ours {
			nodes = append(nodes, n)
		}
	}
	return nodes, nil
}

// conclude calls after and deletes the journal.
func (j *journal) conclude(ctx context.Context, after After, published []Node) error {
	if after != nil {
		if err := after(ctx, j.key, published); err != nil {
			return err
		}
	}
	// After a crash before this, recovery calls after again, which is harmless. A crash
	// after it leaves pointers without a journal, which recovery removes.
	return store.Delete(ctx, j.node.Store, j.key)
}

// unpoint removes the pointers to the journal. The journal must be deleted first: a node
// without a pointer can be changed, perhaps back to the old document, and a recovery that
// then found the journal would publish it again.
func (j *journal) unpoint(ctx context.Context) error {
	for _, n := range j.nodes() {
		if err := n.unpoint(ctx, j.key); err != nil {
			return err
		}
	}
	return nil
}

// Outstanding is an unfinished transaction. Its writer may still be running.
type Outstanding struct {
	Committed bool         // the next writer finishes it; otherwise the next writer rolls it back
	Nodes     []store.Path // that change, if committed
	Document  []byte       // of n once the transaction is finished, if committed
}

// Look returns the unfinished transaction that a node belongs to, or nil. It changes
// nothing.
func Look(ctx context.Context, n Node) (*Outstanding, error) {
	key, _, err := n.journal(ctx)
	if err != nil || key.IsZero() {
		return nil, err
	}
	j, err := n.readJournal(ctx, key)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		// Not committed yet, or finished since the pointer was read. Read the
		// pointer again to distinguish the two.
		if key, _, err = n.journal(ctx); err != nil || key.IsZero() {
			return nil, err
		}
		return &Outstanding{}, nil
	case err != nil:
		return nil, err
	case j.Aborted:
		return &Outstanding{}, nil
	}
	o := &Outstanding{Committed: true}
	for _, p := range j.Parts {
		o.Nodes = append(o.Nodes, p.path)
		if j.same(p.path, n.Path) {
			o.Document = []byte(p.Document)
		}
	}
	return o, nil
}

// After runs once the documents of a transaction are published, and updates data that
// depends on them, such as consolidated metadata. The key of the journal distinguishes
// the transaction's own pointers from those of a later transaction.
type After func(ctx context.Context, journal store.Key, nodes []Node) error

// member is a participant that has a change.
type member struct {
	node   Node
	fenced bool
	old    Document
	change *Change
	run    run
	part   journalEntry // its part of the journal

	published bool
	version   store.Version // of the published document
}
