// Package calendar knows the calendars of the CF conventions, so that time axes can be cut by month and by year.
// It is arithmetic only and does no I/O.
//
// A [Calendar] numbers days: it turns a [Date] into a day number and back. An [Instant] is a day number and the
// nanoseconds within that day, so it is exact over millions of years. [Units] are what the numbers of a time coordinate
// count ("hours since 1900-01-01"): they turn a number into an instant and back. [Steps] are times that follow each other
// at one step, which need no coordinate at all.
//
// A bucket is a month or a year ([Unit]), as far as an axis has elements in it. [Edges] gives the elements of each
// bucket, as the lengths of the chunks that hold one bucket each. [Buckets] answers the questions that come up while an axis
// grows: where the next bucket begins, and whether an edge is where a bucket begins.
//
//	u, err := calendar.ParseUnits("days since 1950-01-01", calendar.NoLeap)
//	lengths, err := calendar.Edges(values, u, calendar.Month) // 31, 28, 31, …
//
// Years are counted as astronomers do, in every calendar: the year before 1 is 0, and the one before is -1. There are no
// leap seconds. An element belongs to the bucket that its coordinate value lies in, whatever its bounds are.
package calendar
