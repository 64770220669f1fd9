// SPDX-License-Identifier: Apache-2.0

package main

import "testing"

// TestSaves checks how many objects with records a stage leaves, and which tasks of a
// lost worker are known afterwards.
func TestSaves(t *testing.T) {
	for _, c := range []struct {
		seconds            float64
		tasks, parcels     int64
		perSave, all, kept int64 // kept are those of five tasks
	}{
		{20, 10, 10, 2, 10, 4}, // one in each parcel
		{5, 12, 2, 3, 4, 3},
		{5, 13, 2, 3, 2 + 3, 3}, // one of the parcels has seven tasks
		{1, 100, 1, 11, 10, 0},
	} {
		e := bare(1)
		e.parcels = func(int64, int) int64 { return c.parcels }
		s := begin(setup{quiet(t), secondsEach(c.seconds, c.tasks), e, 1, each, 1})
		if n := s.tasksPerSave(); n != c.perSave {
			t.Errorf("%+v: %d tasks until records are stored", c, n)
		}
		if n := s.present().records; n != c.all {
			t.Errorf("%+v: %d objects", c, n)
		}
		for _, keeps := range []bool{false, true} {
			p := &parcel{count: 9, done: 5}
			s.executor.keeps, s.finished = keeps, 8
			if s.forget(p); p.done != c.kept && keeps || p.done != 0 && !keeps || s.finished != 3+p.done {
				t.Errorf("%+v: %d tasks of a parcel are known, %d of all", c, p.done, s.finished)
			}
		}
	}
}

// TestJoining compares what a process asks for when it joins with what is stored then.
func TestJoining(t *testing.T) {
	e := bare(1)
	e.parcels = func(int64, int) int64 { return 1000 }
	w := secondsEach(1, 10_000, 5000) // the records of a parcel of ten or five are in one object
	w.sources, w.targets, w.pairs = 1_000_000, 2_000_000, 3e9
	c := quiet(t)
	c.object, c.pair, c.fold = 0, 1e-6, 0
	s := begin(setup{c, w, e, 10, each, 1})
	check := func(when string, objects, names, records int64, serial float64) {
		t.Helper()
		l := s.joining()
		if pages := (objects+names)/pageNames + 3; l.pages != pages || l.records != records || !near(l.serial, serial) {
			t.Errorf("%s: %d pages, %d records, %g s, want %d, %d, %g s", when, l.pages, l.records, l.serial, pages, records, serial)
		}
	}
	check("first", 1_000_000, 0, 0, 0)
	s.finished = 5000 // with half of the records and markers
	check("later", 1_000_000+5000+500+500, 500+500, 0, 0)
	s.finished = 0
	s.leave()
	scratch := int64(10_000 + 1000) // and its records
	pairs := 3e9 + 1_000_000 + 10_000
	check("in the last stage", 1_000_000+scratch+1000, scratch+1000+1000, 1000, pairs*c.pair)
	s.finished = 2500
	check("in the middle of it", 1_000_000+scratch+1000+500+500+1_000_000, 500+500+scratch+1000+1000, 1000, pairs*c.pair)
	s.listings = spread | merged
	if l := s.joining(); l.records != 10 || l.pagesAtOnce != prefixes {
		t.Errorf("with one object for each of 10 processes: %+v", l)
	}
	s.listings = once
	if l := s.joining(); l.records != 0 || l.pages > 2 {
		t.Errorf("with tables: %+v", l)
	}
}
