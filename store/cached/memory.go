// SPDX-License-Identifier: Apache-2.0

package cached

import "sync"

// memory is a shelf in memory.
type memory struct {
	limit int64

	mu     sync.Mutex
	held   int64
	nodes  map[ident]*node
	oldest node // of a ring, in the order of use; its next is the oldest
}

// node is an entry. Its bytes are never changed.
type node struct {
	header
	data        []byte
	after, back *node
}

// nodeBytes is about what an entry takes beside its bytes.
const nodeBytes = 512

func newMemory(limit int64) *memory {
	m := &memory{limit: limit, nodes: map[ident]*node{}}
	m.oldest.after, m.oldest.back = &m.oldest, &m.oldest
	return m
}

func (n *node) bytes() int64 {
	return int64(len(n.data)) + int64(len(n.info.Version.String())) + nodeBytes
}

func (n *node) leave() { n.back.after, n.after.back = n.after, n.back }

// enter makes n the latest node of a ring.
func (n *node) enter(ring *node) {
	n.after, n.back = ring, ring.back
	n.back.after, n.after.back = n, n
}

func (m *memory) find(id ident, r *reader) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.nodes[id]
	if n == nil {
		return false
	}
	n.leave()
	n.enter(&m.oldest)
	r.header, r.data = n.header, n.data
	return true
}

func (m *memory) put(h header, data []byte) error {
	n := &node{header: h}
	if n.bytes()+int64(len(data)) > m.limit {
		return nil
	}
	n.data = append(make([]byte, 0, len(data)), data...)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.remove(m.nodes[h.id])
	for m.held+n.bytes() > m.limit {
		m.remove(m.oldest.after)
	}
	m.nodes[h.id] = n
	m.held += n.bytes()
	n.enter(&m.oldest)
	return nil
}

// remove removes a node. The caller holds the lock.
func (m *memory) remove(n *node) {
	if n == nil {
		return
	}
	n.leave()
	delete(m.nodes, n.id)
	m.held -= n.bytes()
}

func (m *memory) drop(r *reader) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.remove(m.nodes[r.id])
}

func (m *memory) close() error { return nil }
