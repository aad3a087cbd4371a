// SPDX-License-Identifier: Apache-2.0

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/** Twenty threads take arrays and direct buffers that must be zero, with collections in between; what was kept is whole. */
public final class Memory {
    private static final Path HERE = Path.of("/tmp/truth");
    private static final int THREADS = 20;
    private static final int ROUNDS = 4;
    private static final int SIZE = 50_000;

    private Memory() {}

    public static void main(String[] args) throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(THREADS);
        ScheduledExecutorService clock = Executors.newSingleThreadScheduledExecutor();
        AtomicLong ticks = new AtomicLong();
        clock.scheduleAtFixedRate(ticks::incrementAndGet, 0, 10, TimeUnit.MILLISECONDS);
        try {
            while (true) {
                List<byte[]> arrays = new ArrayList<>();
                List<ByteBuffer> buffers = new ArrayList<>();
                for (int i = 0; i < 200; i++) {
                    arrays.add(filledArray(i));
                    buffers.add(filledBuffer(i));
                }
                checkpoint();
                long before = ticks.get();
                List<Future<Void>> running = new ArrayList<>();
                for (int i = 0; i < THREADS; i++) {
                    running.add(threads.submit((Callable<Void>) Memory::churn));
                }
                for (Future<Void> one : running) {
                    one.get();
                }
                for (int i = 0; i < arrays.size(); i++) {
                    expect(ByteBuffer.wrap(arrays.get(i)), value(i), "kept array");
                    expect(buffers.get(i), value(i), "kept buffer");
                }
                while (ticks.get() == before) {
                    Thread.sleep(1);
                }
                say("verdict", "ok");
            }
        } catch (Exception | Error wrong) {
            wrong.printStackTrace();
            System.exit(1);
        }
    }

    private static Void churn() {
        for (int round = 0; round < ROUNDS; round++) {
            for (int i = 0; i < 10; i++) {
                filledArray(i);
                filledBuffer(i);
            }
            if (round % 2 == 0) {
                System.gc();
            }
        }
        return null;
    }

    private static byte value(int i) {
        return (byte) (i % 127 + 1);
    }

    private static byte[] filledArray(int i) {
        byte[] array = new byte[SIZE];
        expect(ByteBuffer.wrap(array), (byte) 0, "new array");
        java.util.Arrays.fill(array, value(i));
        return array;
    }

    private static ByteBuffer filledBuffer(int i) {
        ByteBuffer buffer = ByteBuffer.allocateDirect(SIZE);
        expect(buffer, (byte) 0, "new buffer");
        while (buffer.hasRemaining()) {
            buffer.put(value(i));
        }
        buffer.flip();
        return buffer;
    }

    private static void expect(ByteBuffer bytes, byte wanted, String what) {
        for (int at = 0; at < bytes.limit(); at++) {
            if (bytes.get(at) != wanted) {
                throw new IllegalStateException(what + ": byte " + at + " is " + bytes.get(at) + " instead of " + wanted);
            }
        }
    }

    private static void say(String name, String text) throws IOException {
        Path fresh = Files.writeString(HERE.resolve(name + ".new"), text);
        Files.move(fresh, HERE.resolve(name), StandardCopyOption.ATOMIC_MOVE);
    }

    private static void checkpoint() throws Exception {
        Files.deleteIfExists(HERE.resolve("go"));
        say("ready", "");
        while (!Files.exists(HERE.resolve("go"))) {
            Thread.sleep(10);
        }
    }
}
