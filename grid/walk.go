// SPDX-License-Identifier: Apache-2.0

package grid

// walk iterates over the runs of a list.
type walk struct {
	stretches []stretch
	turn      int64 // completed repetitions of the first stretch
	entry     int   // completed entries of its table
}

// next returns the next run, or false after the last. It merges neighbours of equal
// length across stretches and repetitions, so runs are as long as possible.
func (w *walk) next() (r Run, ok bool) {
	for len(w.stretches) > 0 {
		n := w.stretches[0].run(w.entry)
		// The next entry begins another run. It stays for the next call.
		if ok && n.Length != r.Length {
			break
		}
		r, ok = Run{n.Length, r.Count + n.Count}, true
		w.step()
	}
	return r, ok
}

// step moves past the current entry.
func (w *walk) step() {
	p := &w.stretches[0]
	if w.entry++; w.entry < p.entries() {
		return
	}
	w.entry = 0
	// The table starts again from its first entry.
	if w.turn++; w.turn < p.repeats {
		return
	}
	w.turn, w.stretches = 0, w.stretches[1:]
}
