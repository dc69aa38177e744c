// Loads a filter plugin of kaf-relay, and asks it about batches of values.
//
//	host PLUGIN IN OUT
//
// IN and OUT are descriptors. All numbers have 32 bits, little endian.
//
//	in    length, the configuration
//	out   status (a byte), length, the plugin's ID or the error
//	in    count, the length of each value (nullValue for null), the values
//	out   a byte for each value (dropped, kept, panicked), then for each panic: length, text
//
// It exits when IN ends, even while the plugin does not return.
package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"plugin"
	"runtime"
	"strconv"
	"strings"
	"syscall"
)

const (
	loaded = iota
	notOpened
	noFilter
	notMade
)

const (
	dropped = iota
	kept
	panicked
)

const nullValue = 0xFFFFFFFF

// Filter is kaf-relay's filter.Provider.
type Filter interface {
	ID() string
	IsAllowed(msg []byte) bool
}

func main() {
	in := bufio.NewReaderSize(descriptor(os.Args[2]), 1<<16)
	out := descriptor(os.Args[3])
	config := make([]byte, number(in))
	fill(in, config)
	// A goroutine waits for the end of IN while the plugin works.
	batches := make(chan [][]byte)
	go func() {
		for {
			batches <- batch(in)
		}
	}()
	filter, status, text := open(os.Args[1], config)
	write(out, withLength([]byte{byte(status)}, text))
	if status != loaded {
		os.Exit(0)
	}
	for values := range batches {
		write(out, verdicts(filter, values))
	}
}

func open(path string, config []byte) (filter Filter, status int, text string) {
	opened, err := plugin.Open(path)
	if err != nil {
		return nil, notOpened, err.Error()
	}
	symbol, err := opened.Lookup("New")
	if err != nil {
		return nil, noFilter, "it has no function New"
	}
	create, ok := symbol.(func([]byte) (interface{}, error))
	if !ok {
		return nil, noFilter, fmt.Sprintf("New is %T, not func([]byte) (interface{}, error)", symbol)
	}
	defer func() {
		if reason := recover(); reason != nil {
			filter, status, text = nil, notMade, panicText(reason)
		}
	}()
	made, err := create(config)
	if err != nil {
		return nil, notMade, err.Error()
	}
	filter, ok = made.(Filter)
	if !ok {
		return nil, noFilter, fmt.Sprintf("New returns %T, which lacks ID() string or IsAllowed([]byte) bool", made)
	}
	return filter, loaded, filter.ID()
}

func verdicts(filter Filter, values [][]byte) []byte {
	answer := make([]byte, len(values), len(values)+256)
	var texts []string
	for next := 0; next < len(values); {
		var text string
		next, text = judge(filter, values, answer, next)
		if text != "" {
			texts = append(texts, text)
		}
	}
	for _, text := range texts {
		answer = withLength(answer, text)
	}
	return answer
}

// judge asks about values from `next` on, up to the first that panics, and returns where to continue.
func judge(filter Filter, values [][]byte, answer []byte, next int) (after int, text string) {
	after = next
	defer func() {
		if reason := recover(); reason != nil {
			answer[after] = panicked
			after, text = after+1, panicText(reason)
		}
	}()
	for ; after < len(values); after++ {
		if filter.IsAllowed(values[after]) {
			answer[after] = kept
		}
	}
	return after, ""
}

// panicText is the reason, and where in the plugin's source it was raised.
func panicText(reason interface{}) string {
	text := fmt.Sprintf("panic: %v", reason)
	callers := make([]uintptr, 64)
	frames := runtime.CallersFrames(callers[:runtime.Callers(2, callers)])
	raised := false
	for more := true; more; {
		var frame runtime.Frame
		frame, more = frames.Next()
		if frame.Function == "runtime.gopanic" {
			raised = true
		} else if raised && !strings.HasPrefix(frame.Function, "runtime.") {
			return fmt.Sprintf("%s (%s:%d)", text, frame.File, frame.Line)
		}
	}
	return text
}

func descriptor(argument string) *os.File {
	number, err := strconv.Atoi(argument)
	if err != nil {
		panic(err)
	}
	syscall.CloseOnExec(number) // what the plugin starts must not keep them open
	return os.NewFile(uintptr(number), argument)
}

// batch reads the values of a request. No later request uses their memory, so a plugin may keep them.
func batch(in io.Reader) [][]byte {
	lengths := make([]byte, 4*number(in))
	fill(in, lengths)
	values := make([][]byte, len(lengths)/4)
	total := 0
	for n := range values {
		if length := binary.LittleEndian.Uint32(lengths[4*n:]); length != nullValue {
			total += int(length)
		}
	}
	content := make([]byte, total)
	fill(in, content)
	for n := range values {
		if length := binary.LittleEndian.Uint32(lengths[4*n:]); length != nullValue {
			values[n] = content[:length:length]
			content = content[length:]
		}
	}
	return values
}

func number(in io.Reader) uint32 {
	var content [4]byte
	fill(in, content[:])
	return binary.LittleEndian.Uint32(content[:])
}

func fill(in io.Reader, content []byte) {
	if _, err := io.ReadFull(in, content); err != nil {
		os.Exit(0)
	}
}

func withLength(content []byte, text string) []byte {
	return append(binary.LittleEndian.AppendUint32(content, uint32(len(text))), text...)
}

func write(out io.Writer, content []byte) {
	if _, err := out.Write(content); err != nil {
		os.Exit(0)
	}
}
