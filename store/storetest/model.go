// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"

	"varve.dev/zarr/store"
)

// checkModel makes random changes, and compares the store with a map after each.
func checkModel(p *probe) {
	for seed := range uint64(4) {
		m := model{p: p, r: rand.New(rand.NewPCG(seed, 7)), values: map[string][]byte{}}
		for range 60 {
			m.step()
		}
		for name := range m.values {
			if p.change(store.Delete(store.MustKey(name))) != nil {
				return // the store cannot delete, so it cannot begin again
			}
		}
	}
}

// model is the content that a store should have.
type model struct {
	p      *probe
	r      *rand.Rand
	values map[string][]byte
}

// name returns a random key of a few.
func (m *model) name() string { return fmt.Sprintf("model/%d/k", m.r.IntN(6)) }

// step makes one change.
func (m *model) step() {
	name := m.name()
	switch m.r.IntN(6) {
	case 0:
		value := bytes.Repeat([]byte{byte(m.r.IntN(256))}, m.r.IntN(500))
		m.p.put(name, value)
		m.values[name] = value
	case 1:
		if m.p.change(store.Delete(store.MustKey(name))) == nil {
			delete(m.values, name)
		}
	case 2:
		m.splice(name)
	case 3, 4:
		m.clone(name)
	default:
		m.assemble(name)
	}
	m.compare()
}

// source returns a random key that has a value.
func (m *model) source() (name string, ok bool) {
	for range 20 {
		name = m.name()
		if _, ok = m.values[name]; ok {
			return name, true
		}
	}
	return "", false
}

// cut returns a random range of a value.
func (m *model) cut(name string) (off, n int64) {
	size := int64(len(m.values[name]))
	off = m.r.Int64N(size + 1)
	return off, m.r.Int64N(size - off + 1)
}

func (m *model) clone(name string) {
	source, ok := m.source()
	if !ok {
		return
	}
	made, err := m.p.clone(store.MustKey(name), store.MustKey(source), m.p.version(source))
	m.p.is(err, nil, "Clone")
	m.values[name] = m.values[source]
	m.p.cloned(made, name, source, m.values[source])
}

func (m *model) splice(name string) {
	if _, ok := m.values[name]; !ok {
		return
	}
	off, n := m.cut(name)
	fragments := []store.Part{kept(off, n), fresh("|")}
	switch err := m.p.splice(store.MustKey(name), m.p.version(name), fragments); {
	case errors.Is(err, store.ErrUnsupported):
	case err != nil:
		m.p.errorf("Splice: %w", err)
	default:
		m.values[name] = spliced(m.values[name], fragments)
	}
}

func (m *model) assemble(name string) {
	var parts []store.Part
	for range m.r.IntN(8) {
		source, ok := m.source()
		if !ok || m.r.IntN(4) == 0 {
			parts = append(parts, added("+"))
			continue
		}
		off, n := m.cut(source)
		parts = append(parts, m.p.versioned([]store.Part{taken(source, off, n)}, m.r.IntN(2) == 0)...)
	}
	m.p.is(m.p.assemble(store.MustKey(name), parts), nil, "Assemble of %v", parts)
	m.values[name] = assembled(m.values, parts)
}

// compare compares the store with the model.
func (m *model) compare() {
	for i := range 6 {
		name := fmt.Sprintf("model/%d/k", i)
		if value, ok := m.values[name]; ok {
			m.p.holds(name, value)
		} else {
			m.p.absent(name)
		}
	}
}
