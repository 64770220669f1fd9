// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
)

// cost is one input of the model, as costs.json has it.
type cost struct {
	Name   string  `json:"name"`
	Value  float64 `json:"value"`
	Unit   string  `json:"unit"`
	What   string  `json:"what"`
	Source string  `json:"source"`
	Minor  bool    `json:"minor,omitempty"` // it is not in the table of docs/scale.md
}

// costs are the inputs of the model. costs.json says what each is, in which unit, and
// where it comes from. Times are in seconds, sizes in bytes.
type costs struct {
	cores, link, connection, reads, writes, records, uploads, part float64
	decode, encode, tls, task                                      float64
	latency, copy, page, gets, puts, partitions, pause             float64
	object, pair, fold, settle                                     float64
	start, launch, requeue, replace, lease, looks                  float64
	bundle, restart, life, slow, spread                            float64
	priceGet, pricePut, priceHour                                  float64
}

// fields returns the places of the inputs by their names.
func (c *costs) fields() map[string]*float64 {
	return map[string]*float64{
		"cores": &c.cores, "link": &c.link, "connection": &c.connection, "reads": &c.reads, "writes": &c.writes,
		"records": &c.records, "uploads": &c.uploads, "part": &c.part, "decode": &c.decode, "encode": &c.encode, "tls": &c.tls, "task": &c.task,
		"latency": &c.latency, "copy": &c.copy, "page": &c.page, "gets": &c.gets, "puts": &c.puts,
		"partitions": &c.partitions, "pause": &c.pause, "object": &c.object, "pair": &c.pair, "fold": &c.fold,
		"settle": &c.settle, "start": &c.start, "launch": &c.launch, "requeue": &c.requeue, "replace": &c.replace,
		"lease": &c.lease, "looks": &c.looks, "bundle": &c.bundle, "restart": &c.restart, "life": &c.life, "slow": &c.slow, "spread": &c.spread,
		"price_get": &c.priceGet, "price_put": &c.pricePut, "price_hour": &c.priceHour,
	}
}

// mayBeZero has the inputs for which 0 means that something does not happen. All others
// divide or are waited for, so they are above 0.
var mayBeZero = []string{"life", "slow", "spread", "object", "pair", "fold", "settle", "task", "launch", "price_get", "price_put", "price_hour"}

// parseCosts parses a list of inputs. Each must be there once.
func parseCosts(data []byte) (costs, []cost, error) {
	var c costs
	var list []cost
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&list); err != nil {
		return c, nil, fmt.Errorf("simulation: costs: %w", err)
	}
	left := c.fields()
	for _, in := range list {
		to := left[in.Name]
		switch {
		case to == nil:
			return c, nil, fmt.Errorf("simulation: costs: %q is unknown or there twice", in.Name)
		case math.IsNaN(in.Value) || in.Value < 0 || in.Value == 0 && !slices.Contains(mayBeZero, in.Name):
			return c, nil, fmt.Errorf("simulation: costs: %s may not be %g", in.Name, in.Value)
		}
		*to = in.Value
		delete(left, in.Name)
	}
	for name := range left {
		return c, nil, fmt.Errorf("simulation: costs: %s is missing", name)
	}
	return c, list, nil
}

// bucket is a token bucket: what a service permits. A bucket without a rate permits
// everything.
type bucket struct {
	rate  float64 // tokens per second; the bucket holds those of one second
	level float64 // below 0 if tokens are reserved
	at    float64 // the time of level
	taken int64
}

func newBucket(rate float64) *bucket { return &bucket{rate: rate, level: rate} }

// take takes up to n tokens, and returns how many it got.
func (b *bucket) take(now float64, n int64) int64 {
	if b.rate > 0 {
		b.level = min(b.rate, b.level+(now-b.at)*b.rate)
		b.at = now
		n = min(n, int64(max(0, b.level)))
		b.level -= float64(n)
	}
	b.taken += n
	return n
}

// reserve takes n tokens in advance, and returns the seconds until the last of them is
// there. So callers come one after the other, as if nobody had to ask twice.
func (b *bucket) reserve(now float64, n int64) float64 {
	b.taken += n
	if b.rate == 0 || n == 0 {
		return 0
	}
	b.level = min(b.rate, b.level+(now-b.at)*b.rate) - float64(n)
	b.at = now
	return max(0, -b.level/b.rate)
}

// service is an object store. It permits so many requests in a second, and refuses the
// others.
type service struct {
	gets, puts *bucket // of chunks and scratch, which many partitions share
	names      *bucket // of one partition: listings and records of the array
	small      *bucket // of another one: claims and markers beside the plan, and deletions
	refused    int64
	givenUp    int64 // steps of which a request was refused as often as store/retry repeats it
	pages      int64
}

// attempts is how often store/retry repeats a request by default.
const attempts = 5

func newService(c *costs) *service {
	return &service{
		gets: newBucket(c.gets * c.partitions), puts: newBucket(c.puts * c.partitions),
		names: newBucket(c.gets), small: newBucket(c.puts),
	}
}

// permit takes what the service permits of a load now, and returns whether that is all.
// What is left has to be asked for again.
func (s *service) permit(now float64, l *load) bool {
	take := func(b *bucket, n *int64, atOnce float64) {
		*n -= b.take(now, *n)
		s.refused += min(*n, int64(max(1, atOnce)))
	}
	take(s.gets, &l.gets, l.getsAtOnce)
	take(s.puts, &l.puts, l.putsAtOnce)
	return l.gets+l.puts == 0
}

// wait returns the seconds until the service has answered what a load asks for one
// request after the other. Refusals are left out: a process has one such request at a
// time, and waits for it.
func (s *service) wait(now float64, l *load) float64 {
	s.pages += l.pages
	return max(s.names.reserve(now, l.pages+l.records), s.small.reserve(now, l.looks+l.changes))
}

// reads and writes return the requests that were permitted, by their price.
func (s *service) reads() int64  { return s.gets.taken + s.names.taken - s.pages }
func (s *service) writes() int64 { return s.puts.taken + s.small.taken + s.pages }

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
	if s.listings.contains(spread) {
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
	if s.listings.contains(once) {
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
		if l.records = s.left.records; s.listings.contains(merged) {
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
	if s.listings.contains(once) {
		return listing(c, stored), clean
	}
	visible = load{pages: int64(relisted * stored / pageNames), pagesAtOnce: s.pagesAtOnce(), records: now.records, serial: relisted*stored*c.object + w.pairs*c.settle}
	return visible, clean
}
