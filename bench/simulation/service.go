// SPDX-License-Identifier: Apache-2.0

package main

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
