package publish

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// ErrPending says that a change of several nodes, this one among them, was begun and not
// finished: [Recover] comes first.
var ErrPending = fmt.Errorf("%w: a change of several nodes is not finished", store.ErrConflict)

const (
	pointerName   = own.Dir + "/" + own.Pending
	journalPrefix = own.Dir + "/together-"
	journalSuffix = ".json"
	// mostJournal and mostPointer are the most bytes of a journal and of a pointer.
	mostJournal = 256 << 20
	mostPointer = 16 << 20
)

// journal is what several nodes are changed to. It is stored beside the first of them
// under a name that no other journal has.
type journal struct {
	Aborted bool          `json:"aborted,omitempty"` // nothing was changed, and nothing will be
	Parts   []journalPart `json:"parts,omitempty"`

	node Node
	key  store.Key
}

// journalPart is what one node is changed to.
type journalPart struct {
	Path     string `json:"path"`           // from the node that the journal is beside, as ../t2m
	Name     string `json:"name,omitempty"` // of the document; "" is zarr.json
	Was      string `json:"was"`            // digest of the document that was planned on
	Document string `json:"document"`

	path store.Path
}

func newJournal(n Node, id string) (*journal, error) {
	at, err := store.Resolve(n.Store, n.Path)
	return &journal{node: n, key: at.MustKey(journalPrefix + id + journalSuffix)}, err
}

// pointer returns what the pointer of a node says of the journal. It is relative to the
// node's place without links, from where every reader resolves it, whatever link it came
// by.
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
	j.Parts = append(j.Parts, journalPart{at, name, digest(m.old.Bytes), string(m.change.Document), m.node.Path})
}

// home returns the path of the node that the journal is beside.
func (j *journal) home() store.Path { return j.key.Dir().Parent() }

// digest identifies a document, whatever newlines are at its end.
func digest(document []byte) string {
	sum := sha256.Sum256(bytes.TrimRight(document, "\n"))
	return hex.EncodeToString(sum[:])
}

// at returns the node of a part of a journal.
func (n Node) at(p journalPart) Node {
	if n.Path, n.Document = p.path, p.Name; p.Name == "" {
		n.Document = metadata.V3Node
	}
	return n
}

// Pending returns [ErrPending] where a node is part of an unfinished change of several
// that has another journal; the zero Key is no journal. The documents of such nodes do
// not go together.
func Pending(ctx context.Context, n Node, journal store.Key) error {
	key, _, err := n.journal(ctx)
	if err == nil && !key.IsZero() && key != journal {
		err = ErrPending
	}
	return err
}

// journal returns the key of the journal that the node's pointer names, the zero Key
// where it names none.
func (n Node) journal(ctx context.Context) (store.Key, pointerFile, error) {
	p, err := n.pointer(ctx)
	if err != nil || p.Journal == "" {
		return store.Key{}, p, err
	}
	at, err := store.Resolve(n.Store, n.Path)
	if err != nil {
		return store.Key{}, p, err
	}
	place, err := resolve(at, p.Journal)
	if err != nil {
		return store.Key{}, p, outside(n.Path.MustKey(pointerName), err)
	}
	key, err := store.ParseKey(place)
	if err == nil && !isJournal(key) {
		err = fmt.Errorf("%s is no journal", key)
	}
	if err != nil {
		return store.Key{}, p, damaged(n.Path.MustKey(pointerName), err)
	}
	return key, p, nil
}

// isJournal reports whether a key is the name of a journal. What else a pointer names is
// not written and not deleted.
func isJournal(k store.Key) bool {
	name := k.Dir().Name() + "/" + k.Base()
	return strings.HasPrefix(name, journalPrefix) && strings.HasSuffix(name, journalSuffix)
}

// outside returns the error of a file beside a node that names what the store does not
// have.
func outside(key store.Key, err error) error {
	return fmt.Errorf("%w: %s: %v", metadata.ErrInvalid, key, err)
}

// damaged returns the error of a file beside a node that no writer has left in this form.
func damaged(key store.Key, err error) error {
	return fmt.Errorf("%w: %s is damaged (remove it if no writer is at work): %v", metadata.ErrInvalid, key, err)
}

// putIf writes on a condition where the store knows some.
func (n Node) putIf(ctx context.Context, key store.Key, value []byte, on store.Condition) (store.Version, error) {
	v, err := store.PutIf(ctx, n.Store, key, value, on, n.Durability)
	if errors.Is(err, store.ErrUnsupported) {
		v, err = store.Put(ctx, n.Store, key, value, n.Durability)
	}
	return v, err
}

// write makes the decision. An answer that is lost is looked for.
func (j *journal) write(ctx context.Context) error {
	data, err := json.Marshal(j)
	if err != nil {
		return err
	}
	if len(data) > mostJournal {
		return fmt.Errorf("%w: a journal of %d bytes, at most %d can be read again; change fewer nodes at a time", store.ErrTooLarge, len(data), mostJournal)
	}
	if _, err = j.node.putIf(ctx, j.key, data, store.IfAbsent()); err == nil {
		return nil
	}
	there, lookErr := j.node.readJournal(context.WithoutCancel(ctx), j.key)
	switch {
	case lookErr == nil && !there.Aborted:
		return nil
	case lookErr == nil || errors.Is(lookErr, fs.ErrNotExist) && errors.Is(err, store.ErrConflict):
		return errors.Join(store.ErrConflict, err)
	case errors.Is(lookErr, fs.ErrNotExist):
		if j.node.abort(store.Finishing(ctx), j.key) == nil {
			return j.missed(context.WithoutCancel(ctx), err)
		}
	}
	return fmt.Errorf("%w: %w", ErrOutcomeUnknown, err)
}

// missed tells what became of a journal that is not there, and will not be, although the
// answer to its write is lost: others may have found it, and removed it once they had
// published what it says.
func (j *journal) missed(ctx context.Context, lost error) error {
	now, err := j.node.at(j.Parts[0]).read(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", ErrOutcomeUnknown, errors.Join(lost, err))
	case digest(now.Bytes) == j.Parts[0].Was:
		return lost
	}
	return nil
}

// abort makes sure that a journal is never written.
func (n Node) abort(ctx context.Context, key store.Key) error {
	data, err := json.Marshal(journal{Aborted: true})
	if err != nil {
		return err
	}
	_, err = n.putIf(ctx, key, data, store.IfAbsent())
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

// check refuses a journal that no writer has written: one that names a node twice, or not
// the one that it was found by, or stands elsewhere than beside the first.
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
		found = found || j.same(p.path, j.node.Path)
		if i > 0 && p.path.String() <= j.Parts[i-1].path.String() {
			return fmt.Errorf("its nodes %q and %q are not in order", j.Parts[i-1].path, p.path)
		}
	}
	if !found || !j.same(j.home(), j.Parts[0].path) {
		return fmt.Errorf("it is not that of node %q", j.node.Path)
	}
	return nil
}

// same reports whether two paths are of one node, one perhaps by a link.
func (j *journal) same(a, b store.Path) bool {
	same, err := store.SameDirectory(j.node.Store, a, b)
	return same && err == nil
}

// names reports whether the pointer of one of the nodes still names the journal.
// Otherwise the node is another one by now.
func (j *journal) names(ctx context.Context, n Node) (bool, error) {
	key, _, err := n.journal(ctx)
	return key == j.key, err
}

// publishTries is how often the document of a decided change is written anew because its
// answer was lost, or because others do the same.
const publishTries = 8

// publish writes the document that the journal has for a node, unless that was done. The
// version is zero where others did it, and perhaps more since: a document that is as
// before is that of a time when the node's pointer names the journal, or a later one.
func (j *journal) publish(ctx context.Context, n Node, p journalPart) (store.Version, error) {
	var failed error
	for range publishTries {
		now, err := n.read(ctx)
		if errors.Is(err, fs.ErrNotExist) {
			return store.Version{}, nil // removed since
		}
		if err != nil {
			return store.Version{}, err
		}
		if digest(now.Bytes) != p.Was {
			return store.Version{}, nil
		}
		if ours, err := j.names(ctx, n); err != nil || !ours {
			return store.Version{}, err
		}
		on := store.IfVersion(now.Version)
		version, err := n.putIf(ctx, n.key(), next([]byte(p.Document), now.Bytes), on)
		if err == nil {
			return version, nil
		}
		if errors.Is(err, store.ErrLocked) || errors.Is(err, context.Canceled) {
			return store.Version{}, err // it was waited for already, or is not to be waited for
		}
		failed = err
	}
	return store.Version{}, failed
}

// nodes returns the nodes that the journal names.
func (j *journal) nodes() []Node {
	nodes := make([]Node, len(j.Parts))
	for i, p := range j.Parts {
		nodes[i] = j.node.at(p)
	}
	return nodes
}

// pointing returns the nodes whose pointers name the journal. The others are no part of
// it any more: others have told of them, or they are other nodes by now, which may have a
// change of their own pending. To finish that would take a lock that is held.
func (j *journal) pointing(ctx context.Context) (nodes []Node, err error) {
	for _, n := range j.nodes() {
		ours, err := j.names(ctx, n)
		if err != nil {
			return nil, err
		}
		if ours {
			nodes = append(nodes, n)
		}
	}
	return nodes, nil
}

// settle tells others of what was published at some nodes, and removes the journal.
func (j *journal) settle(ctx context.Context, after After, published []Node) error {
	if after != nil {
		if err := after(ctx, j.key, published); err != nil {
			return err
		}
	}
	return store.Delete(ctx, j.node.Store, j.key)
}

// unpoint removes the pointers to the journal, once that is gone: nobody may find a
// journal, and do again what it says, once a node without a pointer can be changed,
// perhaps back to what it was.
func (j *journal) unpoint(ctx context.Context) error {
	for _, n := range j.nodes() {
		if err := n.unpoint(ctx, j.key); err != nil {
			return err
		}
	}
	return nil
}

// Outstanding is a change of several nodes that is not finished. Its writer may be at
// work.
type Outstanding struct {
	Decided  bool         // else nothing of it is visible, and nothing will be if its writer died
	Nodes    []store.Path // that change, where it is decided
	Document []byte       // that the node has once it is finished, where it is decided
}

// Look returns the unfinished change that a node is part of, nil where there is none.
func Look(ctx context.Context, n Node) (*Outstanding, error) {
	key, _, err := n.journal(ctx)
	if err != nil || key.IsZero() {
		return nil, err
	}
	j, err := n.readJournal(ctx, key)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		// Either it is not decided yet, or it is finished but for the pointers.
		if key, _, err = n.journal(ctx); err != nil || key.IsZero() {
			return nil, err
		}
		return &Outstanding{}, nil
	case err != nil:
		return nil, err
	case j.Aborted:
		return &Outstanding{}, nil
	}
	o := &Outstanding{Decided: true}
	for _, p := range j.Parts {
		o.Nodes = append(o.Nodes, p.path)
		if j.same(p.path, n.Path) {
			o.Document = []byte(p.Document)
		}
	}
	return o, nil
}
