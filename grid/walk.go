package grid

// walk goes through the runs of a list.
type walk struct {
	parts []part
	turn  int64 // repetitions of the first part that are done
	entry int   // entries of its table that are done
}

// next returns the next run, the longest there is: neighbours of one length are merged also across parts and repetitions.
// It is false behind the last.
func (w *walk) next() (r Run, ok bool) {
	for len(w.parts) > 0 {
		n := w.parts[0].run(w.entry)
		if ok && n.Length != r.Length {
			break
		}
		r, ok = Run{n.Length, r.Count + n.Count}, true
		w.step()
	}
	return r, ok
}

// step leaves an entry behind.
func (w *walk) step() {
	p := &w.parts[0]
	if w.entry++; w.entry < p.entries() {
		return
	}
	w.entry = 0
	if w.turn++; w.turn < p.repeats {
		return
	}
	w.turn, w.parts = 0, w.parts[1:]
}
