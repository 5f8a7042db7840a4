#!/usr/bin/env python3
# What is in a trace file: events by category, and the operations that took longest.
import collections
import json
import os
import sys


def main(path):
    with open(path, encoding='utf-8') as file:
        events = json.load(file)['traceEvents']
    categories = collections.Counter(event.get('cat', '(no category)') for event in events)
    durations = collections.Counter()
    for event in events:
        if event.get('cat') == 'cpu_op':
            durations[event['name']] += event.get('dur', 0)
    print(f'{path}: {os.path.getsize(path):,} bytes, {len(events):,} events')
    for category, count in categories.most_common():
        print(f'  {count:8,}  {category}')
    if durations:
        print('longest operations, in ms together:')
        for name, microseconds in durations.most_common(5):
            print(f'  {microseconds / 1000:8.1f}  {name}')


if __name__ == '__main__':
    main(sys.argv[1])
