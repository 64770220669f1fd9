// SPDX-License-Identifier: Apache-2.0

package main

// load is what something asks of a worker and of the service.
type load struct {
	in, out    float64 // bytes over the link
	compute    float64 // seconds of a core, on all cores
	serial     float64 // seconds of one core
	gets, puts int64   // requests, many in flight
	reading    float64 // seconds of all gets, one after the other, beside their latency
	writing    float64 // the same of puts
	getsAtOnce float64 // gets in flight
	putsAtOnce float64 // puts in flight
	pages      int64   // of listings of the array
	// pagesAtOnce are the pages that are asked for at a time; 0 is one.
	pagesAtOnce float64
	records     int64 // small values that are read, some at a time
	looks       int64 // claims and markers that are read or listed, one after the other
	changes     int64 // small values that are written or deleted one after the other
}

// part returns one of n equal parts. The requests that remain are in the first ones.
func (l *load) part(k, n int64) load {
	share := func(all int64) int64 { return all*(k+1)/n - all*k/n }
	p, f := *l, float64(n)
	p.in, p.out, p.compute, p.serial = l.in/f, l.out/f, l.compute/f, l.serial/f
	p.reading, p.writing = l.reading/f, l.writing/f
	p.gets, p.puts, p.pages = share(l.gets), share(l.puts), share(l.pages)
	p.records, p.looks, p.changes = share(l.records), share(l.looks), share(l.changes)
	return p
}

// Figures of steps: what is asked for at once. Fewer requests would take more events and
// change little.
const (
	stepRequests = 512
	stepNames    = 5000
)

// steps returns into how many parts a load is divided.
func (l *load) steps() int64 {
	return max(1, (max(l.gets, l.puts)+stepRequests-1)/stepRequests, (l.pages+l.records+l.looks+l.changes+stepNames-1)/stepNames)
}

// seconds returns how long a load takes when the service has permitted its requests. The
// link, the cores and the requests work side by side; what is done one after the other
// is added.
func (l *load) seconds(c *costs, latency float64) float64 {
	s := max(l.in/c.link, l.out/c.link, l.compute/c.cores)
	if l.gets > 0 {
		s = max(s, (float64(l.gets)*latency+l.reading)/l.getsAtOnce)
	}
	if l.puts > 0 {
		s = max(s, (float64(l.puts)*latency+l.writing)/l.putsAtOnce)
	}
	return s + l.serial + float64(l.pages)*c.page/max(1, l.pagesAtOnce) + (float64(l.records)/c.records+float64(l.looks+l.changes))*latency
}
