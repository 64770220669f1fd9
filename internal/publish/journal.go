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
	"strings"

	"varve.dev/zarr/internal/directory"
	"varve.dev/zarr/internal/nodename"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/remedy"
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
	Planned  string `json:"was"`            // digest of the document that was planned on
	Document string `json:"document"`
	Sum      string `json:"sum"` // of all this: what is damaged must not be carried out

	path store.Path
}

func newJournal(n Node, id string) (*journal, error) {
	at, err := store.DirectoriesOf(n.Store).Resolve(n.Path)
	return &journal{node: n, key: at.MustKey(journalPrefix + id + journalSuffix)}, err
}

// pointer returns the pointer to j that is stored beside n. It is relative to the place
// of n after symbolic links are resolved. Readers resolve links as well, so the pointer
// is valid through every link.
func (j *journal) pointer(n Node) (pointerFile, error) {
	at, err := store.DirectoriesOf(n.Store).Resolve(n.Path)
	return pointerFile{Journal: relative(at, j.key.String())}, err
}

func (j *journal) add(m *member) {
	at := relative(j.home(), m.node.Path.String())
	name := m.node.Document
	if name == nodename.V3Node {
		name = ""
	}
	p := journalEntry{Path: at, Name: name, Planned: digest(m.old.Bytes), Document: string(m.change.Document), path: m.node.Path}
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
	for _, text := range [...]string{p.Path, p.Name, p.Planned, p.Document} {
		fmt.Fprintf(h, "%d:%s", len(text), text)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// home returns the path of the node that has the journal.
func (j *journal) home() store.Path { return j.key.Dir().Parent() }

// digest identifies a document regardless of the white space at its end: a fence and a
// warning change it between the plan and the journal.
func digest(document []byte) string {
	sum := sha256.Sum256(withoutTrail(document))
	return hex.EncodeToString(sum[:])
}

// nodeOfPart returns the node of a part of a journal.
func (n Node) nodeOfPart(p journalEntry) Node {
	if n.Path, n.Document = p.path, p.Name; p.Name == "" {
		n.Document = nodename.V3Node
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
		return fmt.Errorf("%w: a journal of %s, at most %d are allowed; change fewer nodes at a time", store.ErrTooLarge, quantity.Count(len(data), "bytes"), mostJournal)
	}
	if _, err = j.node.putIf(ctx, j.key, data, store.IfAbsent()); err == nil || certainlyNotWritten(err) && !errors.Is(err, store.ErrConflict) {
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
			return j.settleMissing(context.WithoutCancel(ctx), err)
		}
	}
	return outcomeUnknown(err)
}

// settleMissing finds the outcome if an answer to the write of the journal is no
// success, and the journal does not exist and never will. A concurrent recovery may
// have found it, published its documents and deleted it, or stored an aborted one and
// deleted that. The first document tells.
func (j *journal) settleMissing(ctx context.Context, failed error) error {
	n := j.node.nodeOfPart(j.Parts[0])
	now, err := n.read(ctx)
	if err != nil {
		return outcomeUnknown(failed, err)
	}
	if !n.trails() {
		// There is no concurrent writer, so only a recovery publishes.
		if digest(now.Bytes) == j.Parts[0].Planned {
			return failed
		}
		return nil
	}
	switch trailOf(now.Bytes).fateOf(j.id(), trailOf(j.old.Bytes).last()) {
	case fateDone:
		return nil
	case fateUnknown:
		return outcomeUnknown(failed)
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
		return nil, damagedError(key, err)
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
			return outsideError(j.key, err)
		}
		if p.path, err = store.ParsePath(place); err != nil {
			return err
		}
		if p.Name != "" && p.Name != nodename.V2Array {
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
	same, err := directory.Same(j.node.Store, a, b)
	return same && err == nil
}

// namedBy reports whether the pointer of n names the journal. Otherwise the node was
// replaced, or a recovery has finished the transaction.
func (j *journal) namedBy(ctx context.Context, n Node) (bool, error) {
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
		if digest(now.Bytes) != p.Planned {
			return store.Version{}, nil
		}
		// The document is the one that was planned on. But a recovery may have
		// finished, and a later change may have restored that document. Neither
		// has happened while the pointer names this journal.
		if ours, err := j.namedBy(ctx, n); err != nil || !ours {
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
	return withPublication([]byte(p.Document), now.Bytes, j.id())
}

// nodes returns the nodes of the transaction.
func (j *journal) nodes() []Node {
	nodes := make([]Node, len(j.Parts))
	for i, p := range j.Parts {
		nodes[i] = j.node.nodeOfPart(p)
	}
	return nodes
}

// pointingNodes returns the nodes whose pointers name the journal. A concurrent recovery
// finished the others, or they were replaced and may have a transaction of their own.
// Finishing that one would need a lock that this call holds.
func (j *journal) pointingNodes(ctx context.Context) (nodes []Node, err error) {
	for _, n := range j.nodes() {
		ours, err := j.namedBy(ctx, n)
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
	_, err := store.Write(ctx, j.node.Store, store.Delete(j.key), store.Sync)
	return err
}

// removePointers removes the pointers to the journal. The journal must be deleted
// first: a node without a pointer can be changed, perhaps back to the old document, and
// a recovery that then found the journal would publish it again.
func (j *journal) removePointers(ctx context.Context) error {
	for _, n := range j.nodes() {
		if err := n.removePointer(ctx, j.key); err != nil {
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

const (
	pointerName = own.Dir + "/" + own.Pending
	mostPointer = 16 << 20 // bytes

	journalPrefix = own.Dir + "/together-"
	journalSuffix = ".json"
)

// pointerFile is the object beside a node that has a pending transaction or a holder.
type pointerFile struct {
	Journal string          `json:"journal,omitempty"` // key of the journal relative to this node, such as ../t2m/__varve/together-X.json
	Holder  string          `json:"holder,omitempty"`  // the only writer that may change the node
	Note    json.RawMessage `json:"note,omitempty"`    // from the holder

	info store.Info
}

// isEmpty reports whether nothing is pending.
func (p *pointerFile) isEmpty() bool { return p.Journal == "" && p.Holder == "" }

// checkFree returns an error if the node belongs to an unfinished transaction or has
// another holder.
func (n Node) checkFree(ctx context.Context) error {
	p, err := n.pointer(ctx)
	switch {
	case err != nil:
		return err
	case p.Journal != "":
		return ErrPending
	case p.Holder != "" && p.Holder != n.Holder:
		return fmt.Errorf("%w by %.100s%s, which must be published or cancelled first ("+remedy.Reservation+")", ErrHeld, p.Holder, p.holderText())
	case p.Holder != n.Holder:
		// The hold of n.Holder was released in the meantime.
		return noHolder(n.Holder)
	}
	return nil
}

// holderText returns the user and the program that hold the node, if the note is that
// of a reservation.
func (p *pointerFile) holderText() string {
	var note struct {
		By store.Holder `json:"by"`
	}
	if json.Unmarshal(p.Note, &note) != nil || note.By == (store.Holder{}) {
		return ""
	}
	return fmt.Sprintf(" of %.200v", note.By)
}

// pointer reads the node's pointer. Without one, it returns an empty pointer.
func (n Node) pointer(ctx context.Context) (pointerFile, error) {
	var p pointerFile
	data, info, err := n.Store.Get(ctx, n.Path.MustKey(pointerName), store.Request{Limit: mostPointer}, nil)
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err != nil {
		return p, err
	}
	if err := json.Unmarshal(data, &p); err != nil {
		return p, damagedError(n.Path.MustKey(pointerName), err)
	}
	p.info = info
	return p, nil
}

// setPointer writes the node's pointer if it has none or an empty one.
func (n Node) setPointer(ctx context.Context, to pointerFile) error {
	old, err := n.pointer(ctx)
	if err != nil {
		return err
	}
	// The pointer of another transaction or holder. Overwriting it would hide the
	// journal from recovery.
	if !old.isEmpty() {
		return ErrPending
	}
	// Without locks, a concurrent writer may store its pointer at the same time. Only
	// one write succeeds.
	on := store.IfAbsent()
	if !old.info.Version.IsZero() {
		on = store.IfVersion(old.info.Version)
	}
	return n.putPointer(ctx, to, on)
}

func (n Node) putPointer(ctx context.Context, p pointerFile, on store.Condition) error {
	data, err := json.Marshal(p)
	if err != nil {
		return err
	}
	// A pointer that is too long to be read would block the node for ever.
	if len(data) > mostPointer {
		return fmt.Errorf("%w: a note of %s, at most %d are allowed", store.ErrTooLarge, quantity.Count(len(data), "bytes"), mostPointer)
	}
	_, err = n.putIf(ctx, n.Path.MustKey(pointerName), data, on)
	return err
}

// removePointer removes the node's pointer if it names the journal.
func (n Node) removePointer(ctx context.Context, journal store.Key) error {
	key, p, err := n.journal(ctx)
	// The pointer may be gone already, or name the journal of a later transaction.
	if err != nil || key != journal {
		return err
	}
	return n.clearPointer(ctx, p)
}

// clearPointer removes the node's pointer unless a concurrent writer changed it.
func (n Node) clearPointer(ctx context.Context, p pointerFile) error {
	_, err := store.Write(ctx, n.Store, store.DeleteIf(n.Path.MustKey(pointerName), p.info.Version), store.Sync)
	if errors.Is(err, store.ErrUnsupported) {
		// The store has no conditional deletes. An empty pointer means the same as
		// none.
		err = n.putPointer(ctx, pointerFile{}, store.IfVersion(p.info.Version))
	}
	if errors.Is(err, store.ErrConflict) {
		return nil // it belongs to another transaction, or a recovery removed it
	}
	return err
}

// ErrHeld reports that only the holder of a node may change it.
var ErrHeld = fmt.Errorf("%w: the node is held", store.ErrConflict)

// noHolder is the [ErrHeld] of a caller whose hold has ended.
type noHolder string

func (h noHolder) Error() string {
	return fmt.Sprintf("%v: %s no longer holds the node", store.ErrConflict, string(h))
}

func (h noHolder) Is(target error) bool { return target == ErrHeld || target == store.ErrConflict }

// ErrPending reports that the node belongs to an unfinished transaction. Call [Recover]
// first.
var ErrPending = fmt.Errorf("%w: a change of several nodes is not finished", store.ErrConflict)

// isJournal reports whether a key is the name of a journal. Recovery neither writes nor
// deletes other keys, even if a pointer names them.
func isJournal(k store.Key) bool {
	name := k.Dir().Name() + "/" + k.Base()
	return strings.HasPrefix(name, journalPrefix) && strings.HasSuffix(name, journalSuffix)
}

// outsideError returns the error for a file beside a node that refers to a place
// outside the store.
func outsideError(key store.Key, err error) error {
	return fmt.Errorf("%w: %s: %v", metadata.ErrInvalid, key, err)
}

// damagedError returns the error for a file beside a node that no version of Varve
// writes.
func damagedError(key store.Key, err error) error {
	return fmt.Errorf("%w: %s is damaged: %v; put it back from a copy of the node, or copy that as a whole", metadata.ErrInvalid, key, err)
}

// putIf writes on a condition, or without one if the store has no conditional writes.
func (n Node) putIf(ctx context.Context, key store.Key, value []byte, on store.Condition) (store.Version, error) {
	v, err := store.Write(ctx, n.Store, store.PutIf(key, value, on), n.Durability)
	if errors.Is(err, store.ErrUnsupported) {
		v, err = store.Write(ctx, n.Store, store.Put(key, value), n.Durability)
	}
	return v.Version, err
}

// journal returns the key of the journal that the node's pointer names, or the zero Key.
func (n Node) journal(ctx context.Context) (store.Key, pointerFile, error) {
	p, err := n.pointer(ctx)
	if err != nil || p.Journal == "" {
		return store.Key{}, p, err
	}
	// The pointer is relative to the place of the node without links.
	at, err := store.DirectoriesOf(n.Store).Resolve(n.Path)
	if err != nil {
		return store.Key{}, p, err
	}
	place, err := resolve(at, p.Journal)
	if err != nil {
		return store.Key{}, p, outsideError(n.Path.MustKey(pointerName), err)
	}
	key, err := store.ParseKey(place)
	// A forged pointer must not make recovery write or delete other objects.
	if err == nil && !isJournal(key) {
		err = fmt.Errorf("%s is not a journal", key)
	}
	if err != nil {
		return store.Key{}, p, damagedError(n.Path.MustKey(pointerName), err)
	}
	return key, p, nil
}

// mostAborted bounds a journal that says only that its transaction is rolled back.
const mostAborted = 1 << 10 // bytes

// Aborted returns the journals beside a node whose transactions were rolled back. Such a
// journal keeps a writer from committing whose write is still on its way. It may be
// deleted once no write can be.
func Aborted(ctx context.Context, n Node) (found []store.Key, err error) {
	dir := n.Path.MustKey(own.Dir + "/-").Dir()
	for e, err := range store.List(ctx, n.Store, dir, store.Flat) {
		if err != nil {
			return nil, err
		}
		key := dir.MustKey(e.Name)
		if e.Dir || !isJournal(key) {
			continue
		}
		data, _, err := n.Store.Get(ctx, key, store.Request{Limit: mostAborted}, nil)
		// Another recovery has deleted it, or it has parts.
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, store.ErrTooLarge) {
			continue
		}
		if err != nil {
			return nil, err
		}
		var j journal
		if json.Unmarshal(data, &j) == nil && j.Aborted && len(j.Parts) == 0 {
			found = append(found, key)
		}
	}
	return found, nil
}
