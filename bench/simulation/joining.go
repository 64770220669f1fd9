// SPDX-License-Identifier: Apache-2.0

package main

import "math"

const (
	pageNames   = 1000 // names of a page of a listing
	tableBytes  = 24   // of a stored object in a table
	recordBytes = 64   // of a record in an object that has all of a stage
	relisted    = 4    // listings to publish: before and after the document is announced
	prefixes    = 64   // that are listed at a time, if the store is listed once for all
	opening     = 10   // small requests to open the array and to say that somebody works
	saveEvery   = 10   // seconds after which a process stores the records of a share
)

// left is what the stages before the present one have left in the store.
type left struct {
	scratch int64 // objects
	records int64 // objects with records of these
	markers int64 // of parcels
}

// all returns the number of objects.
func (l left) all() float64 { return float64(l.scratch + l.records + l.markers) }

// tasksPerSave returns how many tasks a process does until it stores their records. The
// first of them begins the time that it waits.
func (s *simulation) tasksPerSave() int64 {
	t := s.task()
	return int64(math.Ceil(saveEvery/t.seconds(&s.costs, s.costs.latency))) + 1
}

// saves returns how many objects with records a parcel of so many tasks leaves.
func (s *simulation) saves(tasks int64) int64 {
	per := s.tasksPerSave()
	return (tasks + per - 1) / per
}

// present returns what this stage leaves when all of its tasks are done.
func (s *simulation) present() left {
	n := s.parcels()
	each, more := s.tasks()/n, s.tasks()%n
	return left{scratch: s.tasks(), records: more*s.saves(each+1) + (n-more)*s.saves(each), markers: n}
}

// isLast reports whether this is the last stage.
func (s *simulation) isLast() bool { return s.stage+1 == len(s.work.stages) }

// pagesAtOnce returns how many pages of a listing a process asks for at a time.
func (s *simulation) pagesAtOnce() float64 {
	if s.listings.has(spread) {
		return prefixes
	}
	return 1
}

// listing returns the load of listing so many objects once, several prefixes at a time.
func listing(c *costs, objects float64) load {
	pages := objects/pageNames + prefixes
	return load{gets: int64(pages), reading: pages * c.page, getsAtOnce: prefixes, serial: objects * c.object}
}

// joining returns the load of a process that joins the stage now. As Varve is, it lists
// everything below the array to find the chunks of the source, and the names of markers
// and of records. It finds the chunks that are wanted. Before the last of two stages, it
// also lists the scratch, reads its records, and compares it with the source.
func (s *simulation) joining() load {
	if s.listings.has(once) {
		return s.joiningByTable()
	}
	c, w, now := &s.costs, s.work, s.present()
	done := float64(s.finished) / float64(s.tasks())
	records, markers := done*float64(now.records), done*float64(now.markers)
	stored := float64(w.sources) + s.left.all() + records + markers
	if s.isLast() {
		stored += done * float64(w.targets)
	} else {
		stored += float64(s.finished)
	}
	names := records + markers + float64(s.left.markers)
	l := load{looks: opening, serial: stored * c.object}
	if s.isLast() {
		l.serial += w.pairs * c.pair
	}
	if before := float64(s.left.scratch); before > 0 {
		names += before + 2*float64(s.left.records)
		if l.records = s.left.records; s.listings.has(merged) {
			l.records = int64(s.workers)
		}
		// A source chunk is read by one task, or by few.
		l.serial += before*c.object + (float64(w.sources)+before)*(c.pair+c.fold)
	}
	l.pages, l.pagesAtOnce = int64((stored+names)/pageNames)+3, s.pagesAtOnce()
	return l
}

// joiningByTable is joining if somebody has made a table of the source, and the records
// of the stage before are in one object. A process compares only the chunks of its tasks.
func (s *simulation) joiningByTable() load {
	c, w := &s.costs, s.work
	done := float64(s.finished) / float64(s.tasks())
	bytes := float64(w.sources)*tableBytes + float64(s.left.scratch)*(tableBytes+recordBytes)
	return load{
		in: bytes, gets: int64(bytes/c.part) + 2, reading: bytes / c.connection, getsAtOnce: c.reads,
		looks: opening, pages: int64(done*float64(s.parcels())/pageNames) + 1, serial: w.pairs * c.pair / float64(s.workers),
	}
}

// publishing returns the load until the new grid is visible, and that of deleting
// scratch, records and what is beside the plan, many at a time.
func (s *simulation) publishing() (visible, clean load) {
	c, w, now := &s.costs, s.work, s.present()
	stored := float64(w.sources+w.targets+now.records+now.markers) + s.left.all()
	removed := s.left.scratch + s.left.records + s.left.markers + now.records + now.markers
	clean = load{pages: removed / pageNames, puts: removed, putsAtOnce: c.records}
	if s.executor.renews { // claims, and what was done for each
		clean.puts += 2 * (s.left.markers + now.markers)
	}
	if s.listings.has(once) {
		return listing(c, stored), clean
	}
	visible = load{pages: int64(relisted * stored / pageNames), pagesAtOnce: s.pagesAtOnce(), records: now.records, serial: relisted*stored*c.object + w.pairs*c.settle}
	return visible, clean
}
