// SPDX-License-Identifier: Apache-2.0

// Fifty goroutines take slices that must be zero, fill them and drop them, with the collector giving memory back in
// between; what was kept before the checkpoint is whole. A goroutine that never rests keeps the scheduler busy.
package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

const (
	here       = "/tmp/truth/"
	goroutines = 50
	rounds     = 12
	slices     = 400
	size       = 16 << 10
)

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func say(name, text string) {
	must(os.WriteFile(here+name+".new", []byte(text), 0o600))
	must(os.Rename(here+name+".new", here+name))
}

func checkpoint() {
	if err := os.Remove(here + "go"); !os.IsNotExist(err) {
		must(err)
	}
	say("ready", "")
	for {
		if _, err := os.Stat(here + "go"); err == nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func check(slice []byte, wanted byte, what string) {
	for at, value := range slice {
		if value != wanted {
			must(fmt.Errorf("%s: byte %d is %d instead of %d", what, at, value, wanted))
		}
	}
}

func filled(value byte) []byte {
	slice := make([]byte, size)
	check(slice, 0, "new slice")
	for at := range slice {
		slice[at] = value
	}
	return slice
}

// One round: 400 slices among fifty goroutines; an eighth of them is kept until the next round.
func round(number int, kept [][]byte) [][]byte {
	next := make([][]byte, slices)
	var all sync.WaitGroup
	for g := 0; g < goroutines; g++ {
		all.Add(1)
		go func(g int) {
			defer all.Done()
			for i := g; i < slices; i += goroutines {
				next[i] = filled(byte(i%251 + 1))
				if i%8 != 0 {
					check(next[i], byte(i%251+1), "slice of this round")
					next[i] = nil
				}
			}
		}(g)
	}
	all.Wait()
	for i, slice := range kept {
		if slice != nil {
			check(slice, byte(i%251+1), "slice of the last round")
		}
	}
	if number%3 == 0 {
		debug.FreeOSMemory()
	}
	return next
}

func main() {
	var turns atomic.Int64
	go func() {
		for {
			turns.Add(1)
			runtime.Gosched()
		}
	}()
	ticker := time.NewTicker(20 * time.Millisecond)
	for {
		var kept [][]byte
		before := turns.Load()
		for number := 0; number < rounds; number++ {
			if number == 3 {
				checkpoint()
				<-ticker.C
			}
			kept = round(number, kept)
		}
		if turns.Load() == before {
			must(fmt.Errorf("the busy goroutine stands still"))
		}
		say("verdict", "ok")
	}
}
